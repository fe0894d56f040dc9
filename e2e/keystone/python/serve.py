"""Keystone on a loopback port, with the configuration of a directory.

The socket shares its port with the one that reserves it for the process that starts this one. Requests are answered one
after the other: of two transactions of SQLite that read and then write, one fails.
"""

import os
import socket
import sys
from pathlib import Path
from threading import Lock


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


def one_at_a_time(application):
    lock = Lock()

    def answer(environ, start_response):
        with lock:
            return application(environ, start_response)

    return answer


def main():
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    # Keystone reads arguments, too.
    del sys.argv[1:]
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = str(folder / "keystone.conf")
    from keystone.server.wsgi import initialize_public_application
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

    application = initialize_public_application()
    # Clients that connect earlier would wait instead of trying again.
    listener = listen(port)
    application = one_at_a_time(application)
    settings = {"threaded": True, "request_handler": Handler, "fd": listener.fileno()}
    make_server("127.0.0.1", port, application, **settings).serve_forever()


if __name__ == "__main__":
    main()
