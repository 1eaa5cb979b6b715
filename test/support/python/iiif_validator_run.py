"""Runs the public validator of the IIIF Image API: iiif_validator_run.py SERVER PREFIX IDENTIFIER prints what failed, by test, as JSON."""

import io
import json
import sys
from contextlib import redirect_stdout

server, prefix, identifier = sys.argv[1:]
failed = {}
passed = []
with redirect_stdout(io.StringIO()):
    from iiif_validator.validator import ImageAPI, TestSuite, ValidationInfo

    for name, test in TestSuite(ValidationInfo()).list_tests('3.0').items():
        try:
            result = ImageAPI(identifier, server, prefix, 'http', '', '3.0', debug=False)
            TestSuite(ValidationInfo()).run_test(name, result)
            error = result.exception
        except Exception as raised:
            error = raised
        if error is None:
            passed.append(name)
        else:
            failed[name] = {'level': test['level'], 'message': repr(getattr(error, 'message', None) or error)}
print(json.dumps({'passed': passed, 'failed': failed}))
