"""Sends tables that pandas, pyarrow, duckdb and geopandas write, and prints the answers as JSON."""

import io
import json
import sys
import urllib.error
import urllib.request

import duckdb
import geopandas
import numpy
import pandas
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import shapely

api, token, annotation, item, folder = sys.argv[1:6]
types = {
    'csv': 'text/csv',
    'parquet': 'application/vnd.apache.parquet',
    'arrow': 'application/vnd.apache.arrow.stream',
}


def send(method, path, kind, body):
    headers = {'Girder-Token': token, 'Content-Type': types[kind]}
    request = urllib.request.Request(f'{api}{path}', data=body, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return {'status': error.code, **json.loads(error.read())}


def patch(kind, body):
    return send('PATCH', f'/annotation/{annotation}/table', kind, body)


def create(kind, body):
    answer = send('POST', f'/annotation?itemId={item}', kind, body)
    return answer['annotation']['elements'] if 'annotation' in answer else answer


def stream(table, compression=None):
    sink = io.BytesIO()
    options = pyarrow.ipc.IpcWriteOptions(compression=compression)
    with pyarrow.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


def parquet(table, **options):
    sink = io.BytesIO()
    pyarrow.parquet.write_table(table, sink, **options)
    return sink.getvalue()


url = f'{api}/annotation/{annotation}/table.parquet'
cells = geopandas.read_parquet(io.BytesIO(urllib.request.urlopen(url).read())).sort_values('order')
n = len(cells)
frame = pandas.DataFrame({
    'id': cells['id'],
    'pandas': [None if i % 3 == 0 else i / 7 for i in range(n)],
    'group': pandas.Categorical(['odd' if i % 2 else 'even' for i in range(n)]),
})
answers = {'csv': patch('csv', frame.to_csv(index=False).encode())}
typed = pyarrow.table({
    'id': cells['id'].to_numpy(),
    '/of/small': pyarrow.array([i % 100 for i in range(n)], pyarrow.int8()),
    '/of/single': pyarrow.array(numpy.arange(n) / 4, pyarrow.float32()),
    '/of/text': pyarrow.array([f'ä{i % 5}' for i in range(n)]).dictionary_encode(),
    '/of/truth': [i % 2 == 0 for i in range(n)],
    '/of/day': pyarrow.array([0] * n, pyarrow.date32()),
})
for codec in ('none', 'snappy', 'gzip', 'brotli', 'zstd'):
    renamed = typed.rename_columns([name.replace('/of', f'/{codec}') for name in typed.column_names])
    answers[codec] = patch('parquet', parquet(renamed, compression=codec, row_group_size=150, data_page_version='2.0' if codec == 'zstd' else '1.0'))
answers['lz4 in Parquet'] = patch('parquet', parquet(typed, compression='lz4'))
for codec in (None, 'zstd'):
    renamed = typed.rename_columns([name.replace('/of', f'/arrow {codec}') for name in typed.column_names])
    answers[f'arrow {codec}'] = patch('arrow', stream(renamed, codec))
answers['arrow lz4'] = patch('arrow', stream(typed, 'lz4'))
path = f'{folder}/duckdb.parquet'
ids = frame[['id']]
duckdb.sql(f"copy (select id, 'duck' as \"/duckdb\" from ids) to '{path}' (format parquet)")
with open(path, 'rb') as file:
    answers['duckdb'] = patch('parquet', file.read())

hole = shapely.Polygon([(0, 0), (10, 0), (10, 10), (0, 10)], [[(2, 2), (2, 4), (4, 4), (4, 2)]])
shapes = geopandas.GeoDataFrame(
    {'cell_id': [7, 8, 9, 10], 'score': [0.25, float('nan'), 1, 2], 'kind': pandas.Categorical(['a', 'b', 'a', None])},
    geometry=[hole, shapely.MultiPolygon([shapely.box(0, 0, 1, 1), shapely.box(5, 5, 6, 6)]), shapely.Point(1.5, 2), None],
)
path = f'{folder}/geopandas.parquet'
shapes.to_parquet(path)
with open(path, 'rb') as file:
    created = create('parquet', file.read())
shapes.set_crs('EPSG:4326').to_parquet(path)
with open(path, 'rb') as file:
    degrees = create('parquet', file.read())
# A table that the server has made, read and written by geopandas.
cells.to_parquet(path, index=False)
with open(path, 'rb') as file:
    again = create('parquet', file.read())
arrow = pyarrow.table({'geometry': pyarrow.array(shapely.to_wkb(shapes.geometry)), 'score': shapes['score'].to_numpy()})
streamed = create('arrow', stream(arrow, 'zstd'))
print(json.dumps({'answers': answers, 'created': created, 'degrees': degrees, 'again': again, 'streamed': streamed}))
