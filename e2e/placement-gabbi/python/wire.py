"""The HTTP client of the suite, which replaces that of gabbi: that one refuses to send invalid requests that some tests
need, such as a Content-Length that is no number. It sends requests unchanged, over one connection as long as the server
keeps it, and stores the last request and its answer for the text of a failure.
"""

import http.client
import string
from urllib.parse import quote, urlsplit

import httpx

DEADLINE_SECONDS = 30
METHODS_WITH_A_BODY = ("POST", "PUT", "PATCH")


class Wire:
    def __init__(self, host, port):
        self._netloc = f"{host}:{port}"
        self._connection = http.client.HTTPConnection(host, port, timeout=DEADLINE_SECONDS)
        self.last = None

    def close(self):
        self._connection.close()

    def request(self, absolute_uri, method, body, headers, redirect=False, timeout=None):
        """The interface of gabbi: returns the headers of the answer, including the status, and its body."""
        if redirect:
            raise NotImplementedError("no test of the suite follows redirects; teach this client to")
        target, sent = _target(absolute_uri), self._headers(method, body, headers)
        self.last = (method, target, sent, body, None, None)
        try:
            response, content = self._exchange(method, target, sent, body)
        except BaseException:
            self._connection.close()
            raise
        self.last = (method, target, sent, body, response, content)
        return response, content

    def _headers(self, method, body, headers):
        """The given headers, and those that every client sends."""
        given = {name.lower() for name in headers}
        others = {"Host": self._netloc, "Accept": "*/*"}
        if body or method in METHODS_WITH_A_BODY:
            others["Content-Length"] = str(len(body))
        return {name: value for name, value in others.items() if name.lower() not in given} | headers

    def _exchange(self, method, target, headers, body):
        connection = self._connection
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, str(value).encode())
        connection.endheaders(body or None)
        answer = connection.getresponse()
        content = answer.read()
        response = httpx.Headers(answer.getheaders())
        response["status"] = str(answer.status)
        response["reason"] = answer.reason
        return response, content


def _target(uri):
    """The path and query of a URI, with percent codes for characters that a request line cannot have."""
    parts = urlsplit(uri)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    return quote(target or "/", safe=string.punctuation)
