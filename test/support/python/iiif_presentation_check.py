"""Reads documents of the IIIF Presentation API 3 as iiif-prezi3 understands them: a list of JSON in, what it complains about out."""

import json
import sys

from iiif_prezi3 import Collection, Manifest

complaints = []
for document in json.load(sys.stdin):
    kind = {'Manifest': Manifest, 'Collection': Collection}[document['type']]
    try:
        kind.model_validate(document)
        complaints.append(None)
    except Exception as raised:
        complaints.append(str(raised)[:2000])
print(json.dumps(complaints))
