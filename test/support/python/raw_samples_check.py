"""Judges samples with numpy: for each case a TIFF, the array that it was made from, and the part and projection that it must hold."""

import io
import json
import sys
import base64

import numpy as np
import tifffile
from xml.etree import ElementTree

faults = []
for case in json.load(sys.stdin):
    # Axes of the array: z, c, y, x (and samples).
    whole = np.load(case['array'])
    if case['axes'] == 'ZYXS':
        whole = whole[:, None]
    elif case['axes'] == 'TZYX':
        whole = whole[case['time']][:, None]
    left, top, width, height = case['box']
    part = whole[:, :, top : top + height, left : left + width]
    method = case.get('project')
    if method:
        part = part[case['from'] : case['to'] + 1]
        if method == 'mean':
            mean = part.mean(axis=0, keepdims=True, dtype=np.float64)
            part = (mean if whole.dtype.kind == 'f' else np.rint(mean)).astype(whole.dtype)
        else:
            part = getattr(part, method)(axis=0, keepdims=True)
    else:
        part = part[case['planes']]
    part = part[:, case['channels']]
    with tifffile.TiffFile(io.BytesIO(base64.b64decode(case['bytes']))) as file:
        series = file.series[0]
        found = file.asarray()
        name = case['name']
        if not file.is_ome:
            faults.append(f'{name}: no OME-TIFF')
        if found.dtype != whole.dtype:
            faults.append(f'{name}: {found.dtype} instead of {whole.dtype}')
        if not np.array_equal(found.squeeze(), part.squeeze(), equal_nan=True):
            faults.append(f'{name}: other samples, {series.axes} {found.shape} for {part.shape}')
        pixels = ElementTree.fromstring(file.ome_metadata).find('.//{*}Pixels')
        for attribute, value in case.get('pixels', {}).items():
            if pixels.get(attribute) != value:
                faults.append(f'{name}: {attribute} is {pixels.get(attribute)}, not {value}')
        names = [channel.get('Name') for channel in pixels.findall('{*}Channel')]
        if 'names' in case and names != case['names']:
            faults.append(f'{name}: channels {names}')
print(json.dumps(faults))
