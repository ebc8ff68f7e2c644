/** Dialog with the keyboard shortcuts, opened with `?`. */
import { Modal } from '@mantine/core';
import { Fragment } from 'react';
import classes from './Frame.module.css';

const KEYS = [
  [['/'], 'Search objects, pages, and actions'],
  [['Ctrl', 'K'], 'The same, also in text fields'],
  [['g', 'o'], 'Go to overview'],
  [['g', 'd'], 'Go to databases'],
  [['g', 'n'], 'Go to nodes'],
  [['g', 'a'], 'Go to activity'],
  [['g', 'b'], 'Go to benchmarks'],
  [['g', 's'], 'Go to settings'],
  [['g', 't'], 'Go to the timeline'],
  [['g', 'e'], 'Go to events'],
  [['l'], 'Pause or resume live data'],
  [['←', '→'], 'Shift the time range'],
  [['?'], 'Show this list'],
  [['Esc'], 'Close'],
] as const;

export function ShortcutsHelp({ onClose }: { onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" centered size="sm">
      <dl className={classes.keys}>
        {KEYS.map(([keys, description]) => (
          <Fragment key={description}>
            <dt>
              {keys.map((key) => (
                <Fragment key={key}>
                  <kbd>{key}</kbd>{' '}
                </Fragment>
              ))}
            </dt>
            <dd>{description}</dd>
          </Fragment>
        ))}
      </dl>
      <p className="dim small">
        On charts: drag to zoom, double-click to reset, click a legend entry to show it alone,
        shift-click to add or remove it.
      </p>
    </Modal>
  );
}
