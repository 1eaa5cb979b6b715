"""Shows images in neuroglancer, whose page a browser must open.

usage: neuroglancer_session.py URL... prints the address of the page, and for each URL, after it was drawn, a line of JSON with the number of different
colors in the picture.
"""

import json
import sys

import neuroglancer
import numpy as np

neuroglancer.set_server_bind_address("127.0.0.1")
viewer = neuroglancer.Viewer()
print(viewer.get_viewer_url(), flush=True)
for url in sys.argv[1:]:
    with viewer.txn() as state:
        state.layers.clear()
        state.layers["image"] = neuroglancer.ImageLayer(source=f"zarr://{url}")
        state.layout = "xy"
        state.show_axis_lines = False
        state.show_scale_bar = False
        state.cross_section_background_color = "#000000"
    # It answers when all chunks in sight were drawn.
    pixels = viewer.screenshot(size=[400, 300]).screenshot.image_pixels
    print(json.dumps({"url": url, "colors": len(np.unique(pixels[..., :3].reshape(-1, 3), axis=0))}), flush=True)
viewer = None
neuroglancer.stop()
