import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaultSettings, readSettings, type SettingProblem } from '../../../src/configuration-text/read-settings.js';
import { sampleFile } from '../../support/images/data.js';

const gibibyte = 1024 ** 3;

function read(config: string | null, env: Record<string, string> = {}) {
  const problems: SettingProblem[] = [];
  const settings = readSettings({
    config,
    env,
    totalMemoryBytes: 32 * gibibyte,
    onProblem: (problem) => void problems.push(problem),
  });
  return { settings, problems };
}

describe('readSettings', () => {
  it('gives the defaults when nothing is set', () => {
    expect(read(null)).toEqual({ settings: defaultSettings(32 * gibibyte), problems: [] });
    expect(read('[other]\ncache_backend = "redis"\n').settings).toEqual(defaultSettings(32 * gibibyte));
    expect(defaultSettings(gibibyte).max_annotation_input_file_length).toBe(gibibyte);
    expect(defaultSettings(32 * gibibyte)).toMatchObject({
      cache_backend: null,
      cache_python_memory_portion: 16,
      cache_tilesource_memory_portion: 32,
      cache_tilesource_maximum: 0,
      max_annotation_input_file_length: 2 * gibibyte,
    });
  });

  it('takes the section of the file, with DEFAULT and references', () => {
    const { settings, problems } = read(
      '[DEFAULT]\nport = 6379\ncache_sources = False\nunrelated = 1\n[large_image]\ncache_backend = "Redis"\ncache_redis_url = "cache:%(port)s"\n' +
        'source_pil_ignored_names = r"\\.gif$"\nicc_correction = "perceptual"\ncache_tilesource_maximum = 5\n',
    );
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({
      cache_backend: 'redis',
      cache_redis_url: 'cache:6379',
      cache_sources: false,
      source_ignored_names: { pil: String.raw`\.gif$` },
      icc_correction: 'PERCEPTUAL',
      cache_tilesource_maximum: 5,
    });
  });

  it('prefers the environment, as JSON if it is JSON', () => {
    const { settings, problems } = read(
      '[large_image]\ncache_backend = "redis"\nmax_small_image_size = 100\ncache_tilesource_maximum = 7\n',
      {
        LARGE_IMAGE_CACHE_BACKEND: 'none',
        LARGE_IMAGE_MAX_SMALL_IMAGE_SIZE: '512',
        LARGE_IMAGE_CACHE_TILESOURCE_MAXIMUM: '__default__',
        LARGE_IMAGE_CACHE_REDIS_PASSWORD: '123456',
        LARGE_IMAGE_ICC_CORRECTION: 'false',
        LARGE_IMAGE_SOURCE_VIPS_IGNORED_NAMES: 'x$',
        LARGE_IMAGE_TEST_DATA: 'not a setting',
      },
    );
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({
      cache_backend: 'none',
      max_small_image_size: 512,
      cache_tilesource_maximum: 0,
      cache_redis_password: '123456',
      icc_correction: false,
      source_ignored_names: { vips: 'x$' },
    });
  });

  it.each([
    ['cache_backend = "disk"', 'cache_backend must be "memory", "redis", "none" or None.'],
    ['cache_python_memory_portion = 0', 'cache_python_memory_portion must be an integer of at least 1.'],
    ['cache_tilesource_maximum = 1.5', 'cache_tilesource_maximum must be an integer of at least 0.'],
    ['cache_tilesource_maximum = True', 'cache_tilesource_maximum must be an integer of at least 0.'],
    ['cache_backend = "memcached"', 'cache_backend must be "memory", "redis", "none" or None.'],
    ['cache_memcached_url = "a"', 'cache_memcached_url is not a setting of [large_image]; it is ignored.'],
    ['cache_redis_url = "a b:x"', 'cache_redis_url must be host, host:port, or an address such as redis://host:port/0.'],
    ['cache_sources = "yes"', 'cache_sources must be True or False.'],
    ['all_sources_ignored_names = "("', 'all_sources_ignored_names must be a regular expression.'],
    // With look-around, a name could take any time.
    ['all_sources_ignored_names = "(?=a)b"', 'all_sources_ignored_names must be a regular expression.'],
    ['default_encoding = "PNG"', 'default_encoding is not a setting of [large_image]; it is ignored.'],
    ['max_small_image_size = 1j', 'max_small_image_size has a value that cannot be used here.'],
    ['cache_pythn = 1', 'cache_pythn is not a setting of [large_image]; it is ignored.'],
  ])('reports %s and continues with the default', (line, message) => {
    const { settings, problems } = read(`[large_image]\n# c\n${line}\n`);
    expect(problems).toEqual([{ key: line.split(' ')[0], source: '[large_image], line 2', message }]);
    expect(settings).toEqual(defaultSettings(32 * gibibyte));
  });

  it('reports an unusable environment value and keeps the value of the file', () => {
    const { settings, problems } = read('[large_image]\ncache_tilesource_maximum = 7\n', {
      LARGE_IMAGE_CACHE_TILESOURCE_MAXIMUM: 'many',
    });
    expect(settings.cache_tilesource_maximum).toBe(7);
    expect(problems).toEqual([
      {
        key: 'cache_tilesource_maximum',
        source: 'LARGE_IMAGE_CACHE_TILESOURCE_MAXIMUM',
        message: 'cache_tilesource_maximum must be an integer of at least 0.',
      },
    ]);
  });

  it('reports a file that does not validate and continues without it', () => {
    const path = sampleFile('sample.cfg');
    if (path === null) return;
    const text = readFileSync(path, 'utf8');
    const { settings, problems } = read(text);
    expect(problems).toMatchObject([
      { key: 'large_image', message: expect.stringContaining('Config values must be valid Python.') },
    ]);
    expect(settings).toEqual(defaultSettings(32 * gibibyte));
    const corrected = read(text.replace('1024 ** 3', '1024 * 1024 * 1024'));
    const memcached = ['cache_memcached_url', 'cache_memcached_username', 'cache_memcached_password'];
    expect(corrected.problems.map(({ key }) => key)).toEqual(memcached);
    expect(corrected.settings).toMatchObject({ cache_backend: 'memory', cache_tilesource_memory_portion: 8 });
  });
});
