"""Reads the table of an annotation with pandas, pyarrow, geopandas and duckdb, and prints what each found as JSON."""

import io
import json
import sys
import urllib.parse
import urllib.request

import duckdb
import geopandas
import pandas
import pyarrow.ipc
import pyarrow.parquet

base, folder = sys.argv[1:3]


def get(extension, **parameters):
    query = urllib.parse.urlencode({name: json.dumps(value) for name, value in parameters.items()})
    return urllib.request.urlopen(f'{base}.{extension}?{query}').read()


parquet = f'{folder}/table.parquet'
with open(parquet, 'wb') as file:
    file.write(get('parquet'))

csv = pandas.read_csv(io.BytesIO(get('csv')), dtype={'id': str}).sort_values('order')
with pyarrow.ipc.open_stream(io.BytesIO(get('arrow'))) as reader:
    arrow = reader.read_all().to_pandas().sort_values('order')
plain = pyarrow.parquet.read_table(parquet).to_pandas().sort_values('order')
shapes = geopandas.read_parquet(parquet).sort_values('order')
polygons = shapes[shapes['type'] == 'polyline']
metadata = pyarrow.parquet.read_metadata(parquet)
geo = json.loads(metadata.metadata[b'geo'])
x, y = shapes.total_bounds[:2]
near = geopandas.read_parquet(parquet, bbox=(x, y, x + 500, y + 500))
found = duckdb.sql(f"""
    select "group", count(*), avg("/score") from '{parquet}' where bbox.xmin >= 500 group by all order by all
""").fetchall()
filtered = pandas.read_csv(io.BytesIO(get('csv', filter={'column': '/score', 'gte': 98}, columns=['id', '/score'])))

print(json.dumps({
    'rows': [len(csv), len(arrow), len(plain), len(shapes)],
    'ids': csv.id.tolist() == arrow.id.tolist() == plain.id.tolist() == shapes.id.tolist(),
    'firstIds': csv.id.tolist()[:3],
    'scores': [frame['/score'].fillna(-1).tolist() for frame in (csv, arrow, plain)],
    'groups': [frame['group'].fillna('none').tolist() for frame in (csv, arrow, plain)],
    'arrowTypes': {name: str(arrow[name].dtype) for name in ('order', 'area', '/score')},
    'checked': arrow['/checked'].tolist(),
    'areas': (polygons.geometry.area - polygons['area']).abs().max(),
    'lengths': (polygons.geometry.length - polygons['length']).abs().max(),
    'centroids': max((polygons.geometry.centroid.x - polygons['x']).abs().max(), (polygons.geometry.centroid.y - polygons['y']).abs().max()),
    'valid': bool(polygons.geometry.is_valid.all()),
    'kinds': sorted(shapes.geometry.dropna().geom_type.unique().tolist()),
    'noShape': shapes[shapes.geometry.isna()]['type'].tolist(),
    'circle': shapes[shapes['type'] == 'circle'][['center_x', 'center_y', 'radius']].values.tolist(),
    'rectangle': shapes[shapes['type'] == 'rectangle'][['width', 'height', 'rotation']].values.tolist(),
    'crs': shapes.crs is None,
    'version': geo['version'],
    'groupsOfRows': metadata.num_row_groups,
    'near': len(near),
    'found': found,
    'filtered': filtered['/score'].tolist(),
}))
