"""Creates the database and the keys of Keystone in a directory that has its configuration, as `keystone-manage` does. Each
command runs in a process of its own, which inherits the modules that take most of the time to load.
"""

import os
import sys
from pathlib import Path

from keystone.cmd import cli

# Keystone replaces this with its own address when it lists its services.
ADDRESS = "$(public_endpoint)s/v3"


def commands(password):
    yield ["db_sync"]
    owner = ["--keystone-user", str(os.getuid()), "--keystone-group", str(os.getgid())]
    yield ["fernet_setup", *owner]
    yield ["credential_setup", *owner]
    addresses = [(f"--bootstrap-{interface}-url", ADDRESS) for interface in ("public", "internal", "admin")]
    values = [("--bootstrap-password", password), ("--bootstrap-region-id", "region-1"), *addresses]
    yield ["bootstrap", *(text for pair in values for text in pair)]


def run(configuration, command):
    child = os.fork()
    if child == 0:
        cli.main(argv=["keystone-manage", "--config-file", str(configuration), *command])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"keystone-manage {command[0]} has failed")


def main():
    folder, password = Path(sys.argv[1]), sys.argv[2]
    for command in commands(password):
        run(folder / "keystone.conf", command)


if __name__ == "__main__":
    main()
