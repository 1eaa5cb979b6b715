"""
Talks to a host at argv[1] as scripts of image analysis do (those of HistomicsTK and the like), with the girder_client library; argv[2] is an
empty directory, argv[3] a slide. Prints 'ok' at the end.
"""

import hashlib
import io
import json
import os
import socket
import sys
import time
from urllib.parse import urlparse

import girder_client

url, work, slide = sys.argv[1:4]
client = girder_client.GirderClient(apiUrl=url + '/api/v1')
client.authenticate('admin', 'admin.password')
[user] = [found for found in client.listUser() if found['login'] == 'admin']
folder = client.loadOrCreateFolder('analysis', user['_id'], 'user')
shown = client.uploadFileToFolder(folder['_id'], slide)

# The slides of a folder, and what they are
[item] = [each for each in client.listItem(folder['_id']) if 'largeImage' in each]
assert item['_id'] == shown['itemId']
path = 'item/%s/tiles' % item['_id']
info = client.get('/' + path)
assert (info['sizeX'], info['sizeY']) == (5000, 4500) and abs(info['magnification'] - 20) < 0.5, info
assert abs(info['mm_x'] - 0.0005) < 1e-6, info
folders = list(client.listFolder(user['_id'], parentFolderType='user'))
assert 'analysis' in [each['name'] for each in folders]


def size_of(answer):
    """Width and height of a PNG."""
    assert answer.content[:8] == b'\x89PNG\r\n\x1a\n', answer.content[:64]
    return int.from_bytes(answer.content[16:20], 'big'), int.from_bytes(answer.content[20:24], 'big')


# Regions by every unit, and at another magnification; arrays of samples by TIFF
def region(**query):
    return client.get(path + '/region', dict(encoding='PNG', **query), jsonResp=False)


assert size_of(region(left=1000, top=500, right=1400, bottom=800, units='base_pixels')) == (400, 300)
assert size_of(region(left=1000, top=500, regionWidth=400, regionHeight=300, units='base_pixels', magnification=10)) == (200, 150)
assert size_of(region(left=0.5, top=0.25, regionWidth=0.2, regionHeight=0.15, units='mm')) == (400, 300)
assert size_of(region(left=0.2, top=0.2, right=0.4, bottom=0.4, units='fraction', width=100)) == (100, 90)
assert size_of(region(left=10, top=10, regionWidth=50, regionHeight=40, units='mag_pixels', magnification=5)) == (50, 40)
tiff = client.get(path + '/region', {'regionWidth': 64, 'regionHeight': 64, 'encoding': 'TIFF'}, jsonResp=False)
assert tiff.content[:2] in (b'II', b'MM'), tiff.content[:16]
thumbnail = client.get(path + '/thumbnail', {'width': 256, 'encoding': 'PNG'}, jsonResp=False)
assert max(size_of(thumbnail)) == 256
histogram = client.get(path + '/histogram', {'bins': 16})
assert len(histogram) == 3 and sum(histogram[0]['hist']) > 0, histogram
assert client.get(path + '/internal_metadata') is not None

# Annotations: made of a list of elements, read back, changed, listed, found by name, removed
polygons = [
    {'type': 'polyline', 'closed': True, 'lineColor': 'rgb(0,255,0)', 'fillColor': 'rgba(0,255,0,0.2)', 'lineWidth': 2,
     'group': 'nuclei', 'label': {'value': 'nucleus %d' % number},
     'points': [[number, 10.5, 0], [number + 8, 10.5, 0], [number + 4, 20.25, 0]]}
    for number in range(0, 3000, 3)
]
document = {'name': 'nuclei', 'description': 'found by a script', 'attributes': {'params': {'min': 3}}, 'elements': polygons}
made = client.post('/annotation?itemId=' + item['_id'], data=json.dumps(document))
read = client.get('/annotation/' + made['_id'])
assert [element['points'] for element in read['annotation']['elements']] == [polygon['points'] for polygon in polygons]
assert read['annotation']['elements'][5]['label'] == {'value': 'nucleus 15'}
changed = dict(read['annotation'], name='cells', elements=read['annotation']['elements'][:100])
client.put('/annotation/' + made['_id'], data=json.dumps(changed))
again = client.get('annotation/%s' % made['_id'])
assert again['annotation']['name'] == 'cells' and len(again['annotation']['elements']) == 100
assert again['annotation']['elements'] == read['annotation']['elements'][:100]
assert [each['_id'] for each in client.get('/annotation', {'itemId': item['_id'], 'name': 'cells'})] == [made['_id']]
assert [each['annotation']['name'] for each in client.get('/annotation/item/' + item['_id'])] == ['cells']
geojson = client.get('annotation/%s/geojson' % made['_id'])
assert geojson['type'] == 'FeatureCollection' and len(geojson['features']) == 100

# As a job's result comes: a file with a reference, which becomes an annotation of the item
text = json.dumps([document, dict(document, name='second')]).encode()
reference = json.dumps({'identifier': 'outputNucleiAnnotationFile.LargeImageAnnotationUpload', 'itemId': item['_id'],
                        'fileId': shown['_id'], 'userId': user['_id']})
client.uploadFile(item['_id'], io.BytesIO(text), 'output.anot', len(text), mimeType='application/json', reference=reference)
deadline = time.monotonic() + 120
while len(client.get('/annotation/item/' + item['_id'])) < 3:
    assert time.monotonic() < deadline, 'the uploaded annotations do not come'
    time.sleep(0.2)
assert client.delete('annotation/item/%s' % item['_id']) is not None
assert client.get('/annotation/item/' + item['_id']) == []

# 200 MB whose connection breaks in the middle of a chunk: the client asks how far the server has come, and goes on from there
block = os.urandom(1024 * 1024)
size = 200 * 1024 * 1024
whole = hashlib.sha256()
for _ in range(200):
    whole.update(block)
upload = client.post('file', {'parentType': 'folder', 'parentId': folder['_id'], 'name': 'large', 'size': size})
client.post('file/chunk', {'uploadId': upload['_id'], 'offset': 0}, data=block * 64)
address = urlparse(url)
with socket.create_connection((address.hostname, address.port)) as connection:
    head = 'POST /api/v1/file/chunk?uploadId=%s&offset=%d HTTP/1.1\r\nHost: %s\r\nGirder-Token: %s\r\nContent-Length: %d\r\n\r\n'
    connection.sendall((head % (upload['_id'], 64 * len(block), address.netloc, client.token, 64 * len(block))).encode())
    for _ in range(30):
        connection.sendall(block)
deadline = time.monotonic() + 60
while True:
    offset = client.get('file/offset', {'uploadId': upload['_id']})['offset']
    assert 64 * len(block) <= offset <= 94 * len(block), offset
    rest = (block * (64 + 1))[offset % len(block):][:64 * len(block)]
    try:
        file = client.post('file/chunk', {'uploadId': upload['_id'], 'offset': offset}, data=rest)
        break
    except girder_client.HttpError as error:
        # The server may not have seen yet that the other connection is gone.
        assert error.status in (400, 409, 503) and time.monotonic() < deadline, error.responseText
        time.sleep(0.1)
while 'received' in file and file['received'] < size:
    at = file['received']
    rest = (block * 65)[at % len(block):][:min(64 * len(block), size - at)]
    file = client.post('file/chunk', {'uploadId': upload['_id'], 'offset': at}, data=rest)
assert file['size'] == size, file
target = os.path.join(work, 'large')
client.downloadFile(file['_id'], target)
found = hashlib.sha256()
with open(target, 'rb') as stream:
    for part in iter(lambda: stream.read(1024 * 1024), b''):
        found.update(part)
assert found.hexdigest() == whole.hexdigest()

client.delete('folder/%s' % folder['_id'])
print('ok')
