import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type CreateDraft, EMPTY_DRAFT } from '../create/createDraft';
import {
  MEMORY_MAX,
  NAME_TAKEN,
  nameError,
  PORT_MAX,
  SHARDS_MAX,
  THREADS_MAX,
  tagsError,
  validate,
} from './validate';

const context = { nodes: 3, ports: [12_000], flashNodes: 1, nameTaken: false };
const errors = (part: Partial<CreateDraft>, nodes = 3, flashNodes = 1) =>
  Object.keys(
    validate({ ...EMPTY_DRAFT, name: 'demo', ...part }, { ...context, nodes, flashNodes }),
  );

describe('the limits of the form', () => {
  const api = JSON.parse(readFileSync('../docs/openapi.json', 'utf8'));
  const fields = api.components.schemas.BdbCreate.properties;

  it.each([
    ['port', PORT_MAX],
    ['shards_count', SHARDS_MAX],
    ['io_threads', THREADS_MAX],
    ['memory_size', MEMORY_MAX],
  ])('of %s are those of the console', (field, limit) => {
    expect(fields[field].maximum).toBe(limit);
  });

  it('of the name are those of the console', () => {
    const { pattern, maxLength } = fields.name;
    for (const name of ['a', 'a-b', '-a', 'a-', 'a_b', 'ä', 'a'.repeat(maxLength), '']) {
      expect(nameError(name) === undefined, name).toBe(new RegExp(pattern).test(name));
    }
    expect(nameError('a'.repeat(maxLength + 1))).toBeDefined();
  });
});

describe('validate', () => {
  it('finds nothing wrong with the defaults and a name', () => {
    expect(errors({})).toEqual([]);
  });

  it('requires a memory limit, nodes with flash and enough RAM for a flash database', () => {
    expect(errors({ flash: true })).toEqual([]);
    expect(errors({ flash: true, memory: 0 })).toEqual(['memory_size']);
    expect(errors({ flash: true }, 3, 0)).toEqual(['bigstore']);
    expect(errors({ flash: true, replication: true })).toEqual(['bigstore']);
    const small: Partial<CreateDraft> = { flash: true, memory: 100, memory_unit: 'MiB' };
    expect(errors(small)).toEqual(['bigstore_ram_size']);
    expect(errors({ ...small, ram_percent: 20 })).toEqual([]);
  });

  it.each(['', 1, 128])('allows %s threads', (io_threads) => {
    expect(errors({ io_threads })).toEqual([]);
  });

  it.each([0, 129, 1.5, 'x'])('rejects %s threads', (io_threads) => {
    expect(errors({ io_threads })).toEqual(['io_threads']);
  });

  it.each(['a', 'A1', 'api-benchmark', 'x'.repeat(63)])('allows the name %s', (name) => {
    expect(nameError(name)).toBeUndefined();
  });

  it.each(['', 'with space', 'under_score', '-a', 'a-', 'ä', 'x'.repeat(64)])(
    'rejects the name "%s"',
    (name) => {
      expect(errors({ name })).toEqual(['name']);
    },
  );

  it.each([
    ['memory_size', { memory: '9007199254740993', memory_unit: 'MiB' } as const],
    ['memory_size', { memory: '9007199254740993', memory_unit: 'TiB' } as const],
    ['shards_count', { sharding: true, shards_count: '9007199254740993' }],
    ['io_threads', { io_threads: '9007199254740993' }],
    ['port', { port: '12000.00000000000000001' }],
    ['port', { port: '1e4' }],
  ])('rejects a value of %s that a number cannot represent: %j', (field, part) => {
    expect(errors(part)).toContain(field);
  });

  it('rejects a name that another database has until the user accepts it', () => {
    const taken = { ...context, nameTaken: true };
    const draft = { ...EMPTY_DRAFT, name: 'demo' };
    expect(validate(draft, taken).name).toBe(NAME_TAKEN);
    expect(validate({ ...draft, accepted_name: 'demo' }, taken).name).toBeUndefined();
    expect(validate({ ...draft, accepted_name: 'orders' }, taken).name).toBe(NAME_TAKEN);
  });

  it.each(['', ' ', '10000', '19999', '12001'])('allows the port "%s"', (port) => {
    expect(errors({ port })).toEqual([]);
  });

  it.each(['9999', '20000', '10050', '12000', 'x', '12000.5', '-1'])('rejects port %s', (port) => {
    expect(errors({ port })).toEqual(['port']);
  });

  it('limits the number of shards only if sharding is on', () => {
    for (const count of [0, 513, 1.5, '', -1]) {
      expect(errors({ sharding: true, shards_count: count, memory: 4 })).toEqual(['shards_count']);
      expect(errors({ sharding: false, shards_count: count })).toEqual([]);
    }
    expect(errors({ sharding: true, shards_count: 512, memory: 4 })).toEqual([]);
  });

  it('requires enough memory for every shard, or no limit', () => {
    expect(errors({ memory: 2, memory_unit: 'MiB' })).toEqual(['memory_size']);
    expect(errors({ memory: 3, memory_unit: 'MiB' })).toEqual([]);
    expect(errors({ memory: 3, memory_unit: 'MiB', replication: true })).toEqual(['memory_size']);
    expect(errors({ memory: 0 })).toEqual([]);
    expect(errors({ memory: -1 })).toEqual(['memory_size']);
    expect(errors({ memory: '' })).toEqual(['memory_size']);
    expect(errors({ memory: 1025, memory_unit: 'TiB' })).toEqual(['memory_size']);
  });

  it('requires two nodes for replication', () => {
    expect(errors({ replication: true }, 1)).toEqual(['replication']);
    expect(errors({ replication: true }, 2)).toEqual([]);
  });

  it('rejects passwords with unsupported characters', () => {
    expect(errors({ password: 'with space' })).toEqual(['authentication_redis_pass']);
    expect(errors({ password: 'g00d!' })).toEqual([]);
  });

  it('checks tags', () => {
    expect(tagsError([{ key: 'a', value: '1' }])).toBeUndefined();
    expect(tagsError([{ key: '', value: '1' }])).toBeDefined();
    expect(tagsError([{ key: 'x'.repeat(65), value: '' }])).toBeDefined();
    expect(tagsError([{ key: 'a', value: 'x'.repeat(129) }])).toBeDefined();
    expect(
      tagsError([
        { key: 'a', value: '1' },
        { key: 'a', value: '2' },
      ]),
    ).toBeDefined();
    const many = Array.from({ length: 31 }, (_, i) => ({ key: `k${i}`, value: '' }));
    expect(tagsError(many)).toBeDefined();
  });
});
