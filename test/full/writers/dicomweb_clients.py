"""Reads slides of a server with clients of DICOMweb: dicomweb_clients.py FILE prints as JSON what did not work, by slide; see dicomweb-clients.test.ts."""

import io
import json
import subprocess
import sys
import tempfile
import traceback

import numpy as np
import requests
import tifffile
from dicomweb_client.api import DICOMwebClient
from highdicom import UID, ann
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.encaps import generate_frames
from pydicom.pixels import pixel_array
from pydicom.sr.coding import Code
from wsidicom import WsiDicom, WsiDicomWebClient

with open(sys.argv[1]) as file:
    given = json.load(file)
root, token, validators = given['root'], given['token'], given['validators']
JPEG, NATIVE = '1.2.840.10008.1.2.4.50', '1.2.840.10008.1.2.1'
RLE, LOSSLESS = '1.2.840.10008.1.2.5', '1.2.840.10008.1.2.4.90'
session = requests.Session()
session.headers['Authorization'] = f'Bearer {token}'
# The client sends its host name without the port, from which addresses of bulk data are made. Hence it does not share the session.
client = DICOMwebClient(f'{root}/dicomweb', headers={'Authorization': f'Bearer {token}'})


class WebClient(WsiDicomWebClient):
    """Hands frames on as bytes: the decoders of 16 bits take no bytearray, which the client below has."""

    def get_frames(self, *args):
        return (bytes(frame) for frame in super().get_frames(*args))


def region_of_ours(item, level_factor, box):
    """A region of a level as our own route gives it, in its samples."""
    left, top, width, height = box
    query = {'left': left * level_factor, 'top': top * level_factor, 'regionWidth': width * level_factor, 'regionHeight': height * level_factor}
    query |= {'width': width, 'height': height, 'encoding': 'TILED', 'tiffCompression': 'raw'}
    answer = session.get(f'{root}/item/{item}/tiles/region', params=query)
    answer.raise_for_status()
    return tifffile.imread(io.BytesIO(answer.content))[:height, :width]


def fetched(uids, syntax='*', **headers):
    study, series, instance = uids
    accept = {'Accept': f'application/dicom; transfer-syntax={syntax}', **headers}
    return session.get(f'{root}/dicomweb/studies/{study}/series/{series}/instances/{instance}', headers=accept)


def assert_close(found, expected, tolerance, what):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape, f'{what}: {found.shape} instead of {expected.shape}'
    worst = np.abs(found - expected).max()
    assert worst <= tolerance, f'{what}: off by {worst}'


def true_values(stored, dataset, path=0):
    """The samples of the file from those of the instance."""
    shared = dataset.SharedFunctionalGroupsSequence[0]
    if 'RealWorldValueMappingSequence' not in shared:
        return stored
    mapping = shared.RealWorldValueMappingSequence[path]
    return stored * mapping.RealWorldValueSlope + mapping.RealWorldValueIntercept


def whole(frames, dataset, path=0):
    """The level that frames show."""
    width, height = dataset.TotalPixelMatrixColumns, dataset.TotalPixelMatrixRows
    across, down = -(-width // dataset.Columns), -(-height // dataset.Rows)
    shape = (down * dataset.Rows, across * dataset.Columns) + ((3,) if dataset.SamplesPerPixel == 3 else ())
    out = np.zeros(shape, frames.dtype)
    for at in range(across * down):
        y, x = at // across * dataset.Rows, at % across * dataset.Columns
        out[y : y + dataset.Rows, x : x + dataset.Columns] = frames[path * across * down + at]
    return out[:height, :width]


def errors_of(validator, content):
    with tempfile.NamedTemporaryFile(suffix='.dcm') as file:
        file.write(content)
        file.flush()
        said = subprocess.run([validator, file.name], capture_output=True, text=True).stderr
    return {line for line in said.splitlines() if line.startswith('Error')}


def validate(content, what):
    for validator in validators:
        errors = errors_of(validator, content)
        assert not errors, f'{what}, {validator}: {sorted(errors)}'


def read_by_wsidicom(slide, study, levels, finest):
    series = [row['0020000E']['Value'][0] for row in client.search_for_series(study, search_filters={'Modality': 'SM'})]
    with WsiDicom.open_web(WebClient(client), study, series[:1]) as wsi:
        assert wsi.read_thumbnail() is not None
        assert (wsi.size.height, wsi.size.width) == levels[0].shape[:2], wsi.size
        left, top = 90, 70
        for level in wsi.levels:
            width, height = min(400, level.size.width - left - 1), min(300, level.size.height - top - 1)
            if min(width, height) <= 0:
                continue
            region = true_values(np.asarray(wsi.read_region((left, top), level.level, (width, height))), finest)
            # Levels that the file does not have are compared with ours.
            is_stored = level.level < len(levels)
            expected = levels[level.level][top : top + height, left : left + width] if is_stored else region_of_ours(slide['item'], 2**level.level, (left, top, width, height))
            if region.ndim == 2 and expected.ndim == 3:
                expected = expected[..., 0]
            difference = np.abs(region.astype(np.float64) - expected[..., :3] if region.ndim == 3 else region.astype(np.float64) - expected)
            # Colours are JPEG where the file has no encoded tiles; other samples are exact but for rounding to 16 bits. Levels are reduced in steps.
            most = slope_of(finest) if is_stored else 700
            most = (2.5 if is_stored else 4) if expected.dtype == np.uint8 else most
            assert difference.mean() <= most, f'wsidicom, level {level.level}: mean difference {difference.mean()}'


def slope_of(dataset):
    shared = dataset.SharedFunctionalGroupsSequence[0]
    return shared.RealWorldValueMappingSequence[0].RealWorldValueSlope if 'RealWorldValueMappingSequence' in shared else 0


def check_frames(uids, dataset, samples):
    study, series, instance = uids
    count = int(dataset.NumberOfFrames)
    is_lossy = dataset.LossyImageCompression == '01'
    syntaxes = list(dataset.AvailableTransferSyntaxUID) if dataset['AvailableTransferSyntaxUID'].VM > 1 else [dataset.AvailableTransferSyntaxUID]
    for syntax in syntaxes:
        answer = fetched(uids, syntax)
        assert answer.status_code == 200, f'{syntax}: {answer.status_code} {answer.text[:200]}'
        if syntax == syntaxes[0]:
            assert int(answer.headers['Content-Length']) == len(answer.content)
        validate(answer.content, f'{dataset.ImageType[2]} in {syntax}')
        file = dcmread(io.BytesIO(answer.content))
        assert file.file_meta.TransferSyntaxUID == syntax
        decoded = pixel_array(io.BytesIO(answer.content))
        decoded = decoded[None] if count == 1 else decoded
        if samples is not None:
            paths = count // (-(-dataset.TotalPixelMatrixColumns // dataset.Columns) * -(-dataset.TotalPixelMatrixRows // dataset.Rows))
            is_encoded_here = syntax == JPEG and syntaxes[0] != JPEG
            most = 24 if is_encoded_here else slope_of(file) or (4 if is_lossy else 0)
            for path in range(paths):
                expected = samples[path] if samples.shape[0] == paths and samples.ndim == 3 else samples[..., path] if paths > 1 else samples
                assert_close(true_values(whole(decoded, file, path), file, path), expected, most, f'{syntax}, path {path}')
        # Frames alone are those of the file.
        numbers = sorted({1, count // 2 + 1, count})
        media = {JPEG: 'image/jpeg', RLE: 'image/x-dicom-rle', NATIVE: 'application/octet-stream'}.get(syntax, 'image/jp2')
        frames = list(client.iter_instance_frames(study, series, instance, numbers, media_types=((media, syntax),)))
        if syntax != NATIVE:
            inside = list(generate_frames(dcmread(io.BytesIO(answer.content)).PixelData, number_of_frames=count))
            for number, frame in zip(numbers, frames):
                assert inside[number - 1].rstrip(b'\0') == frame.rstrip(b'\0'), f'frame {number} in {syntax} is not that of the file'


def check_slide(slide):
    said = session.get(f'{root}/item/{slide["item"]}/dicomweb')
    assert said.status_code == 200, said.text
    study = said.json()['studyInstanceUID']
    levels = [np.load(path) for path in slide['levels']] or [tifffile.imread(slide['path'], series=0)]
    is_stack = levels[0].ndim == 4
    sizes = [(samples.shape[-1], samples.shape[-2]) if is_stack else (samples.shape[1], samples.shape[0]) for samples in levels]
    finest = None
    for row in client.search_for_instances(study, search_filters={'Modality': 'SM'}):
        uids = (study, row['0020000E']['Value'][0], row['00080018']['Value'][0])
        dataset = Dataset.from_json(client.retrieve_instance_metadata(*uids), bulk_data_uri_handler=bulk_value)
        size = (dataset.TotalPixelMatrixColumns, dataset.TotalPixelMatrixRows)
        expected = None
        if size in sizes and dataset.ImageType[2] == 'VOLUME':
            expected = levels[sizes.index(size)]
            expected = expected[int(row['00200011']['Value'][0]) - 1] if is_stack else expected[..., :3] if expected.ndim == 3 else expected
            finest = dataset if size == sizes[0] else finest
        check_frames(uids, dataset, expected)
        if dataset.ImageType[2] in ('LABEL', 'OVERVIEW'):
            spacing = dataset.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].PixelSpacing
            assert 'ImagedVolumeWidth' not in dataset and abs(spacing[0] * min(size) - 25) < 0.01, f'{dataset.ImageType[2]}: {spacing}'
    assert finest is not None, 'no instance of the finest level'
    if not is_stack:
        read_by_wsidicom(slide, study, levels, finest)


def check_files(name, item, paths, samples):
    """Files of DICOM come as they are: file, attributes and frames. The decoded samples of the first file are those that were written."""
    study = session.get(f'{root}/item/{item}/dicomweb').json()['studyInstanceUID']
    files = [dcmread(path) for path in paths]
    rows = client.search_for_instances(study)
    found = {row['00080018']['Value'][0]: row['0020000E']['Value'][0] for row in rows}
    # Other items may have files of the same study.
    assert found.items() >= {str(file.SOPInstanceUID): str(file.SeriesInstanceUID) for file in files}.items(), found
    for path, file in zip(paths, files):
        uids = (study, str(file.SeriesInstanceUID), str(file.SOPInstanceUID))
        with open(path, 'rb') as content:
            assert fetched(uids).content == content.read(), f'{path}: other bytes'
        attributes = Dataset.from_json(client.retrieve_instance_metadata(*uids), bulk_data_uri_handler=bulk_value)
        for element in file:
            if element.tag.group != 0x7FE0:
                assert attributes[element.tag] == element, f'{path}: {attributes[element.tag]} instead of {element}'
        syntax, count = str(file.file_meta.TransferSyntaxUID), int(file.NumberOfFrames)
        if 'PixelData' not in file or not file.file_meta.TransferSyntaxUID.is_encapsulated:
            continue
        accept = {'Accept': f'multipart/related; type="application/octet-stream"; transfer-syntax={syntax}'}
        address = f'{root}/dicomweb/studies/{study}/series/{uids[1]}/instances/{uids[2]}/frames'
        answer = session.get(f'{address}/{",".join(str(number + 1) for number in range(count))}', headers=accept)
        assert answer.status_code == 200, f'{path}: {answer.status_code} {answer.text[:200]}'
        boundary = answer.headers['Content-Type'].split('boundary=')[1].strip('"').encode()
        parts = [part.split(b'\r\n\r\n', 1)[1][:-2] for part in answer.content.split(b'--' + boundary)[1:-1]]
        inside = list(generate_frames(file.PixelData, number_of_frames=count))
        assert parts == inside, f'{path}: other frames'
    first = files[0]
    # Those of native files are as stored, whatever they are shown as.
    if int(first.NumberOfFrames) == 1 and first.file_meta.TransferSyntaxUID.is_encapsulated:
        uids = (study, str(first.SeriesInstanceUID), str(first.SOPInstanceUID))
        native = session.get(
            f'{root}/dicomweb/studies/{study}/series/{uids[1]}/instances/{uids[2]}/frames/1', headers={'Accept': 'application/octet-stream'}
        )
        with open(samples, 'rb') as content:
            assert native.content == content.read(), f'{name}: other samples'


def bulk_value(tag, vr, uri):
    answer = session.get(f'{root}/dicomweb/{uri.split("/dicomweb/", 1)[1]}')
    answer.raise_for_status()
    return answer.content


def check_annotation(name, item, shapes):
    """Reads an annotation with highdicom and compares its groups with the shapes; dciodvfy finds no more errors than in a file that highdicom writes."""
    study = session.get(f'{root}/item/{item}/dicomweb').json()['studyInstanceUID']
    [row] = client.search_for_instances(study, search_filters={'Modality': 'ANN'})
    answer = fetched((study, row['0020000E']['Value'][0], row['00080018']['Value'][0]))
    assert answer.status_code == 200, answer.text
    [slide] = client.search_for_instances(study, search_filters={'Modality': 'SM', 'InstanceNumber': '1'})
    source = dcmread(io.BytesIO(fetched((study, slide['0020000E']['Value'][0], slide['00080018']['Value'][0])).content))
    kind, points = 'POLYGON', [np.array([[1, 2], [3, 4], [5, 6]], np.float32)]
    nucleus, anatomy = Code('84640000', 'SCT', 'Nucleus'), Code('91723000', 'SCT', 'Anatomical Structure')
    group = ann.AnnotationGroup(1, UID(), 'x', anatomy, nucleus, kind, points, 'MANUAL')
    theirs = io.BytesIO()
    ann.MicroscopyBulkSimpleAnnotations([source], '2D', [group], UID(), 1, UID(), 1, 'm', 'm', '1', 's').save_as(theirs)
    for validator in validators:
        unknown = errors_of(validator, answer.content) - errors_of(validator, theirs.getvalue())
        assert not unknown, f'{validator}: {unknown}'
    read = ann.MicroscopyBulkSimpleAnnotations.from_dataset(dcmread(io.BytesIO(answer.content)))
    groups = {(each.label, each.graphic_type.value): each for each in read.get_annotation_groups()}
    assert set(groups) == {(shape['label'], shape['kind']) for shape in shapes}, set(groups)
    for shape in shapes:
        found = groups[shape['label'], shape['kind']]
        graphics = found.get_graphic_data(coordinate_type='2D')
        assert len(graphics) == len(shape['points']) == found.number_of_annotations, len(graphics)
        for graphic, expected in zip(graphics, shape['points']):
            assert_close(np.asarray(graphic), expected, 1e-4, shape['label'])
        names, values, _ = found.get_measurements()
        assert {each.meaning: values[:, at].tolist() for at, each in enumerate(names)} == shape.get('measurements', {}), values


result = {}
for given_annotation in given.get('annotations', []):
    try:
        check_annotation(**given_annotation)
        result[given_annotation['name']] = 'ok'
    except Exception:
        result[given_annotation['name']] = traceback.format_exc()
for given_files in given.get('files', []):
    try:
        check_files(**given_files)
        result[given_files['name']] = 'ok'
    except Exception:
        result[given_files['name']] = traceback.format_exc()
for slide in given.get('slides', []):
    try:
        check_slide(slide)
        result[slide['name']] = 'ok'
    except Exception as error:
        where = [f'{frame.name}:{frame.lineno}' for frame in traceback.extract_tb(error.__traceback__) if 'dicomweb_clients' in frame.filename]
        result[slide['name']] = f'{type(error).__name__}: {error} ({", ".join(where)})'
print(json.dumps(result))
