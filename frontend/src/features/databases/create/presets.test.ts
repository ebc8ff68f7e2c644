import { describe, expect, it } from 'vitest';
import { changeDraft, EMPTY_DRAFT, toRequest } from './createDraft';
import { applyPreset, PRESETS, presetOf } from './presets';

const typed = {
  ...EMPTY_DRAFT,
  name: 'shop',
  port: '12001',
  memory: 8,
  password: 'sesame',
  tls: true,
  tags: [{ key: 'env', value: 'prod' }],
};

describe('applyPreset', () => {
  it.each(PRESETS)('gives $label the same settings after every other preset', (preset) => {
    for (const other of PRESETS) {
      const changed = changeDraft(applyPreset(typed, other), { rack_aware: true, io_threads: 4 });
      expect(applyPreset(changed, preset)).toEqual(applyPreset(typed, preset));
    }
  });

  it.each(PRESETS)('keeps the name, memory, and access of the database for $label', (preset) => {
    expect(applyPreset(typed, preset)).toMatchObject({
      name: 'shop',
      port: '12001',
      memory: 8,
      password: 'sesame',
      tls: true,
      tags: typed.tags,
    });
  });

  it.each(PRESETS)('chooses settings for $label that the form does not change', (preset) => {
    const draft = applyPreset(typed, preset);
    expect(changeDraft(draft, {})).toEqual(draft);
    expect(toRequest(draft).name).toBe('shop');
  });
});

describe('presetOf', () => {
  it.each(PRESETS)('recognizes $label until a setting is changed', (preset) => {
    const draft = applyPreset(typed, preset);
    expect(presetOf(draft)?.id).toBe(preset.id);
    expect(presetOf({ ...draft, name: 'other', memory: 2 })?.id).toBe(preset.id);
    expect(presetOf({ ...draft, rack_aware: false })?.id).toBe(preset.id);
    expect(presetOf({ ...draft, eviction_policy: 'volatile-ttl' })).toBeUndefined();
  });

  it('selects no preset for the defaults', () => {
    expect(presetOf(EMPTY_DRAFT)).toBeUndefined();
  });
});
