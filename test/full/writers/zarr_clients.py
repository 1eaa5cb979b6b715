"""Reads OME-Zarr of a server with the programs that people use. Prints a line of JSON: what each of them said.

usage: zarr_clients.py JSON, with url3 and url2 of the same image, samples (a .npy file of the finest level, c y x), copy (a folder to write to),
and what is expected of the levels and labels.
"""

import json
import shutil
import sys
import traceback

import numpy as np

given = json.loads(sys.argv[1])
url3, url2 = given["url3"], given["url2"]
samples = np.load(given["samples"])
results = {}


def check(name, module):
    def run(work):
        try:
            __import__(module)
        except ImportError:
            results[name] = "missing"
            return
        try:
            work()
            results[name] = "ok"
        except Exception:
            results[name] = traceback.format_exc()

    return run


def assert_equal(found, what):
    found = np.asarray(found)
    assert found.shape == samples.shape, (what, found.shape, samples.shape)
    assert found.dtype == samples.dtype, (what, found.dtype, samples.dtype)
    assert np.array_equal(found, samples), what


def means(finest, step):
    """A coarser level: means of as many pixels as there are in each square of the finest."""
    c, h, w = finest.shape
    rows, columns = -(-h // step), -(-w // step)
    padded = np.full((c, rows * step, columns * step), np.nan)
    padded[:, :h, :w] = finest
    return np.floor(np.nanmean(padded.reshape(c, rows, step, columns, step), axis=(2, 4)) + 0.5).astype(finest.dtype)


import zarr

version = int(zarr.__version__.split(".")[0])


@check("zarr-python", "zarr")
def _():
    if version == 2:
        from zarr.storage import FSStore

        assert_equal(zarr.open_consolidated(FSStore(url2), mode="r")["0"][:], "zarr-python 2")
        return
    for url in (url3, url2):
        group = zarr.open_group(url, mode="r")
        levels = [np.asarray(group[str(level)][:]) for level in range(len(list(group.array_keys())))]
        assert_equal(levels[0], url)
        if given["isMade"]:
            for step, coarser in enumerate(levels[1:], 1):
                assert np.array_equal(means(levels[0], 2**step), coarser), step


@check("labels", "zarr")
def _():
    # Every pixel has the last shape that contains its center, at each level: shapes are in the pixels of the finest.
    if version == 2:
        return
    groups = sorted({shape["group"] for shape in given["shapes"]})
    for path, numbers in zip(given["labelNames"], ([groups.index(s["group"]) + 1 for s in given["shapes"]], range(1, 99))):
        label = zarr.open_group(f"{url3}/labels/{path}", mode="r")
        for level, name in enumerate(sorted(label.array_keys())):
            found = np.asarray(label[name][:])[0]
            y, x = (np.mgrid[: found.shape[0], : found.shape[1]] + 0.5) * 2**level
            expected = np.zeros_like(found)
            for shape, number in zip(given["shapes"], numbers):
                dx, dy = x - shape["center"][0], y - shape["center"][1]
                cos, sin = np.cos(shape["rotation"]), np.sin(shape["rotation"])
                u = (dx * cos + dy * sin) / (shape["width"] / 2)
                v = (dy * cos - dx * sin) / (shape["height"] / 2)
                inside = u**2 + v**2 <= 1 if shape["type"] == "ellipse" else (abs(u) <= 1) & (abs(v) <= 1)
                expected[inside] = number
            assert np.array_equal(found, expected), (path, level, np.argwhere(found != expected)[:5])
            assert found.any()


@check("copy", "zarr")
def _():
    if version == 2:
        return
    source = zarr.open_group(url3, mode="r")
    target = zarr.create_group(given["copy"], zarr_format=3, attributes=dict(source.attrs), overwrite=True)
    for name, array in source.arrays():
        made = target.create_array(
            name, shape=array.shape, dtype=array.dtype, chunks=array.chunks, dimension_names=array.metadata.dimension_names
        )
        made[:] = array[:]
    shutil.make_archive(given["copy"], "zip", given["copy"])


@check("dask", "dask.array")
def _():
    import dask.array

    for url in [url3, url2] if version == 3 else [url2]:
        array = dask.array.from_zarr(f"{url}/0")
        assert np.isclose(array.mean().compute(), samples.mean())


@check("tensorstore", "tensorstore")
def _():
    import tensorstore

    for driver, url in (("zarr3", url3), ("zarr", url2)):
        spec = {"driver": driver, "kvstore": f"{url}/0/"}
        assert_equal(tensorstore.open(spec, read=True).result().read().result(), driver)


@check("ome-zarr-py", "ome_zarr")
def _():
    from ome_zarr.io import parse_url
    from ome_zarr.reader import Reader

    for url in (url3, url2):
        nodes = list(Reader(parse_url(url))())
        assert_equal(nodes[0].data[0].compute(), url)
        assert len(nodes) >= 1 + given["labels"], nodes


@check("ome-zarr-models", "ome_zarr_models")
def _():
    import ome_zarr_models.v04
    import ome_zarr_models.v05

    ome_zarr_models.v05.Image.from_zarr(zarr.open_group(url3, mode="r", zarr_format=3))
    ome_zarr_models.v04.Image.from_zarr(zarr.open_group(url2, mode="r", zarr_format=2))
    for label in given["labelNames"]:
        ome_zarr_models.v05.ImageLabel.from_zarr(zarr.open_group(f"{url3}/labels/{label}", mode="r", zarr_format=3))


@check("napari-ome-zarr", "napari_ome_zarr")
def _():
    try:
        from napari_ome_zarr import napari_get_reader
    except ImportError:
        from napari_ome_zarr._reader import napari_get_reader
    for url in (url3, url2):
        layers = napari_get_reader(url)(url)
        assert [kind for _, _, kind in layers].count("labels") == given["labels"], layers
        assert any(kind == "image" for _, _, kind in layers)


print(json.dumps(results))
