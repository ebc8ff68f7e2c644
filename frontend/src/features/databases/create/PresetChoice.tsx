/** Choice of a preset for the settings of a new database. */
import { Card } from '@/ui/Card';
import classes from '../databases.module.css';
import type { CreateDraft } from './createDraft';
import { PRESETS, type Preset, presetOf } from './presets';

interface Props {
  draft: CreateDraft;
  onChoose: (preset: Preset) => void;
}

export function PresetChoice({ draft, onChoose }: Props) {
  const selected = presetOf(draft);
  return (
    <Card title="Preset">
      <fieldset className={classes.presets}>
        <legend className="dim">
          Sets capacity, availability, clustering, and durability below. Name, memory, and access
          stay as they are.
        </legend>
        {PRESETS.map((preset) => (
          <button
            key={preset.id}
            type="button"
            aria-pressed={preset.id === selected?.id}
            onClick={() => onChoose(preset)}
          >
            <strong>{preset.label}</strong>
            <span>{preset.description}</span>
          </button>
        ))}
      </fieldset>
    </Card>
  );
}
