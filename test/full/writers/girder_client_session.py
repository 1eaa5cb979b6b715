"""
Talks to a host at argv[1] with the girder_client library; argv[2] is an empty directory, argv[3] a slide of 5000 by 4500 pixels in more
than one chunk. The user admin has a job of type python. Prints 'ok' at the end.
"""

import io
import os
import sys

import girder_client

url, work, slide = sys.argv[1:4]
client = girder_client.GirderClient(apiUrl=url + '/api/v1')
client.authenticate('admin', 'admin.password')
assert client.getServerVersion()[0] == '5', client.getServerVersion()

# Collections, folders, items
collection = client.createCollection('Python', description='made by a client', public=True)
folder = client.createFolder(collection['_id'], 'outer', parentType='collection')
assert client.loadOrCreateFolder('outer', collection['_id'], 'collection')['_id'] == folder['_id']
inner = client.loadOrCreateFolder('inner', folder['_id'], 'folder')
item = client.loadOrCreateItem('item', folder['_id'])
assert client.loadOrCreateItem('item', folder['_id'])['_id'] == item['_id']
for number in range(120):
    client.createItem(inner['_id'], 'item %03d' % number, 'description')
names = [found['name'] for found in client.listItem(inner['_id'])]
assert names == ['item %03d' % number for number in range(120)], names
assert [found['name'] for found in client.listFolder(folder['_id'])] == ['inner']
assert client.resourceLookup('/collection/Python/outer/inner/item 007')['name'] == 'item 007'
assert client.get('resource/%s/path' % inner['_id'], {'type': 'folder'}) == '/collection/Python/outer/inner'

# Uploads: in one request, in chunks, once more with the same and with other contents, from a stream, empty
small = os.path.join(work, 'small.txt')
with open(small, 'wb') as file:
    file.write(b'small file')
large = os.path.join(work, 'large.bin')
block = os.urandom(1024 * 1024)
with open(large, 'wb') as file:
    for _ in range(70):
        file.write(block)
uploaded = client.uploadFileToFolder(folder['_id'], small, mimeType='text/plain')
assert uploaded['size'] == 10 and uploaded['mimeType'] == 'text/plain', uploaded
first = client.uploadFileToItem(item['_id'], large)
assert first['size'] == 70 * 1024 * 1024, first
assert client.getItem(item['_id'])['size'] == first['size']
client.uploadFileToItem(item['_id'], large)
with open(large, 'ab') as file:
    file.write(b'more')
again = client.uploadFileToItem(item['_id'], large)
assert again['_id'] == first['_id'] and again['size'] == first['size'] + 4, again
assert len(list(client.listFile(item['_id']))) == 1
empty = os.path.join(work, 'empty')
open(empty, 'wb').close()
assert client.uploadFileToItem(item['_id'], empty)['size'] == 0
with open(small, 'rb') as stream:
    streamed = client.uploadStreamToFolder(inner['_id'], stream, 'streamed.txt', size=10, mimeType='text/plain')
assert streamed['name'] == 'streamed.txt'
client.uploadFileContents(streamed['_id'], open(large, 'rb'), os.path.getsize(large))
assert client.getFile(streamed['_id'])['size'] == os.path.getsize(large)

# A stream that ends early: an error, and nothing is left
try:
    client.uploadStreamToFolder(inner['_id'], io.BytesIO(block * 6), 'short', size=100 * 1024 * 1024)
    raise AssertionError('a short stream was accepted')
except girder_client.IncorrectUploadLengthError:
    pass
assert client.get('system/uploads') == []

# Resuming where the server is
size = os.path.getsize(large)
upload = client.post('file', {'parentType': 'folder', 'parentId': inner['_id'], 'name': 'resumed', 'size': size})
with open(large, 'rb') as file:
    content = file.read()
half = 40 * 1024 * 1024
client.post('file/chunk', {'uploadId': upload['_id'], 'offset': 0}, data=content[:half])
offset = client.get('file/offset', {'uploadId': upload['_id']})['offset']
assert offset == half, offset
resumed = client.post('file/chunk', {'uploadId': upload['_id'], 'offset': offset}, data=content[offset:])
assert resumed['size'] == size

# Downloads
target = os.path.join(work, 'download.bin')
client.downloadFile(resumed['_id'], target)
with open(target, 'rb') as file:
    assert file.read() == content
client.downloadFolderRecursive(folder['_id'], os.path.join(work, 'tree'))
with open(os.path.join(work, 'tree', 'small.txt'), 'rb') as file:
    assert file.read() == b'small file'
assert os.path.exists(os.path.join(work, 'tree', 'item', 'large.bin'))

# Metadata
client.addMetadataToItem(item['_id'], {'a': 1, 'b': {'c': [1, 2]}})
assert client.getItem(item['_id'])['meta'] == {'a': 1, 'b': {'c': [1, 2]}}
client.addMetadataToItem(item['_id'], {'a': None})
assert client.getItem(item['_id'])['meta'] == {'b': {'c': [1, 2]}}
assert client.deleteMetadata('item', item['_id'], ['b'])['meta'] == {} if hasattr(client, 'deleteMetadata') else True
client.addMetadataToFolder(folder['_id'], {'x': 'y'})
client.addMetadataToCollection(collection['_id'], {'x': 'z'})
assert client.getFolder(folder['_id'])['meta'] == {'x': 'y'}
assert client.getCollection(collection['_id'])['meta'] == {'x': 'z'}
client.setResourceTimestamp(item['_id'], 'item', created='2001-01-01T00:00:00Z')
assert client.getItem(item['_id'])['created'].startswith('2001-01-01T00:00:00'), client.getItem(item['_id'])

# Permissions
user = client.createUser('reader', 'reader@example.org', 'Some', 'Reader', 'reader.password')
access = client.getFolderAccess(folder['_id'])
access['users'].append({'id': user['_id'], 'level': 1, 'flags': []})
client.setFolderAccess(folder['_id'], access, public=False)
client.inheritAccessControlRecursive(folder['_id'])
reader = girder_client.GirderClient(apiUrl=url + '/api/v1')
reader.authenticate('reader', 'reader.password')
assert reader.getFolder(inner['_id'])['_accessLevel'] == 1
reader.createItem(inner['_id'], 'by the reader')
anonymous = girder_client.GirderClient(apiUrl=url + '/api/v1')
try:
    anonymous.getFolder(inner['_id'])
    raise AssertionError('an anonymous caller read a private folder')
except girder_client.HttpError as error:
    assert error.status == 401, error.status
try:
    girder_client.GirderClient(apiUrl=url + '/api/v1').authenticate('reader', 'wrong.password')
    raise AssertionError('a wrong password was accepted')
except girder_client.AuthenticationError:
    pass

# API keys
key = client.post('api_key', {'name': 'python'})['key']
with_key = girder_client.GirderClient(apiUrl=url + '/api/v1')
with_key.authenticate(apiKey=key)
assert with_key.get('user/me')['login'] == 'admin'
assert sorted(found['login'] for found in with_key.listUser()) == ['admin', 'reader']

# Tiles
assert os.path.getsize(slide) > 64 * 1024 * 1024
shown = client.uploadFileToFolder(inner['_id'], slide)
tiles = 'item/%s/tiles' % shown['itemId']
metadata = client.get(tiles)
assert (metadata['sizeX'], metadata['sizeY'], metadata['tileWidth'], metadata['levels']) == (5000, 4500, 256, 6), metadata
assert client.getItem(shown['itemId'])['largeImage']['fileId'] == shown['_id']
tile = client.get(tiles + '/zxy/5/3/4', jsonResp=False)
assert tile.headers['Content-Type'] == 'image/jpeg' and tile.content[:2] == b'\xff\xd8', tile.headers
region = client.get(tiles + '/region', {'width': 200, 'encoding': 'PNG'}, jsonResp=False)
assert region.content[:4] == b'\x89PNG'
assert set(client.get(tiles + '/pixel', {'left': 10, 'top': 10})) >= {'r', 'g', 'b'}
try:
    client.get(tiles + '/zxy/9/0/0', jsonResp=False)
    raise AssertionError('a level that is not there was served')
except girder_client.HttpError as error:
    assert error.status == 404, error.status
client.downloadFile(shown['_id'], target)
with open(target, 'rb') as file, open(slide, 'rb') as original:
    assert file.read() == original.read()
assert client.delete(tiles) == {'deleted': True}

# Jobs
[job] = client.listResource('job', {'types': '["python"]'})
assert job['title'] == 'for a Python client' and job['status'] == 0, job
client.put('job/%s' % job['_id'], {'status': 1})
client.put('job/%s' % job['_id'], {'status': 2, 'log': 'a line', 'progressTotal': 2, 'progressCurrent': 1})
client.put('job/%s' % job['_id'], {'status': 3})
found = client.get('job/%s' % job['_id'])
assert found['status'] == 3 and found['log'] == ['a line'] and found['progress']['current'] == 1, found
client.delete('job/%s' % job['_id'])
assert list(client.listResource('job')) == []

client.delete('item/%s' % item['_id'])
client.delete('collection/%s' % collection['_id'])
assert list(client.listCollection()) == []
print('ok')
