"""Patches two parts of gabbi that cost ten times as much as the tests: it builds the tables of its JSONPath parser again
for every path, and an HTTP client with all certificates of the machine for every test, which we replace anyway.
"""

import ply.yacc
from gabbi import httpclient

_make_parser = ply.yacc.yacc
_parsers = {}


def _parser(module=None, **options):
    key = (type(module), tuple(sorted(options.items())))
    if key not in _parsers:
        _parsers[key] = _make_parser(module=module, **options)
    return _parsers[key]


def take():
    ply.yacc.yacc = _parser
    httpclient.get_http = lambda **_: None
