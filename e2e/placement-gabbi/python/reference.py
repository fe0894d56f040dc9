"""OpenStack Placement with the flags of `berth placement`: the suite must pass against it, or the runner is wrong. The
server of the standard library is slow, but passes every header unchanged, which others do not.
"""

import argparse
import os
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIRequestHandler, make_server

SETTINGS = """
[api]
auth_strategy = {auth}
[placement_database]
connection = sqlite:///{database}
sync_on_startup = true
[oslo_policy]
enforce_new_defaults = {enforce_new_defaults}
"""


class Handler(WSGIRequestHandler):
    def get_environ(self):
        environ = super().get_environ()
        if "content-type" not in self.headers:
            # The standard library takes it for text/plain, which no other server does.
            del environ["CONTENT_TYPE"]
        return environ

    def log_message(self, *_):
        pass


def arguments():
    parser = argparse.ArgumentParser()
    for flag in ("--listen", "--metrics-listen", "--database", "--auth"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--enforce-new-defaults", default="false")
    for flag in ("--policy-file", "--cors-origin", "--cors-headers"):
        parser.add_argument(flag)
    return parser.parse_args()


def settings(given):
    text = SETTINGS.format(**vars(given))
    if given.policy_file:
        text += f"policy_file = {given.policy_file}\n"
    if given.cors_origin:
        text += f"[cors]\nallowed_origin = {given.cors_origin}\nallow_headers = {given.cors_headers}\n"
    return text


def main():
    given = arguments()
    folder = Path(given.database).parent
    (folder / "placement.conf").write_text(settings(given), encoding="utf-8")
    os.environ["OS_PLACEMENT_CONFIG_DIR"] = str(folder)
    # Placement reads arguments, too.
    del sys.argv[1:]
    from placement.wsgi.api import application

    host, port = given.listen.rsplit(":", 1)
    make_server(host, int(port), application, handler_class=Handler).serve_forever()


if __name__ == "__main__":
    main()
