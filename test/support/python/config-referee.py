"""Reads JSON [{"config": text} | {"value": text}, ...] and answers what Python's own parsers make of each."""

import ast
import configparser
import json
import operator
import pprint
import sys

OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul}


def evaluate(node):
    """The literal set of the contract, with Python's own arithmetic."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [evaluate(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(evaluate(item) for item in node.elts)
    if isinstance(node, ast.Dict):
        return {evaluate(key): evaluate(value) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right))
    raise ValueError('not in the literal set')


def read_value(text):
    if text == '':
        return ''
    first, *more = ast.parse('_ = ' + text).body
    # Further statements on the line of the value are ignored. Lines that continue the value must be a part of it.
    if '\n' in text and any(statement.end_lineno > first.end_lineno for statement in more):
        raise ValueError('not a part of the value')
    return evaluate(first.value)


def parser_of(text):
    parser = configparser.ConfigParser()
    parser.optionxform = str
    parser.read_string(text)
    return parser


def answer_value(text):
    try:
        value = read_value(text)
        wrapped = pprint.pformat(value, width=79, indent=2, compact=True, sort_dicts=False)
        return {'repr': repr(value), 'wrapped': wrapped}
    except Exception:
        return None


def answer_config(text):
    """The meaning of a file: what each option of each section is, in order; or the kind of error."""
    try:
        parser = parser_of(text)
    except configparser.Error as error:
        return {'error': type(error).__name__, 'line': getattr(error, 'lineno', None) or error.errors[0][0]}
    sections = [[name, sorted(set(parser.options(name)))] for name in parser.sections()]
    try:
        # What no section reads from DEFAULT counts by itself: every value of a file must be a literal.
        unread = [key for key in parser.defaults() if all(key in parser._sections[name] for name, _ in sections)]
        readable = [*sections, ['DEFAULT', sorted(unread)]]
        return {
            'order': [[name, list(parser._sections.get(name, parser.defaults()))] for name, _ in readable],
            'values': [
                [name, [[key, repr(read_value(parser.get(name, key)))] for key in keys]] for name, keys in readable
            ],
        }
    except Exception as error:
        return {'error': 'value', 'kind': type(error).__name__}


tasks = json.load(sys.stdin)
answers = [answer_value(task['value']) if 'value' in task else answer_config(task['config']) for task in tasks]
json.dump(answers, sys.stdout)
