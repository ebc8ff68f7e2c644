/** Columns that the user chose or hid, stored in the browser. */
import { useState } from 'react';
import type { ColumnChoice } from './visibleColumns';

const KEY = 'shardboard.databases.columns';
/** List of hidden columns, which earlier releases stored. */
const HIDDEN_KEY = 'shardboard.databases.hidden';

function stored(): ColumnChoice {
  const choice = parsed(KEY);
  if (choice && !Array.isArray(choice)) return choice as ColumnChoice;
  const hidden = parsed(HIDDEN_KEY);
  return Object.fromEntries(Array.isArray(hidden) ? hidden.map((id) => [String(id), false]) : []);
}

function parsed(key: string): object | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

export interface ColumnChoiceState {
  choice: ColumnChoice;
  show: (id: string, isShown: boolean) => void;
  /** Show columns automatically again. */
  reset: () => void;
}

export function useColumnChoice(): ColumnChoiceState {
  const [choice, setChoice] = useState(stored);
  const store = (next: ColumnChoice) => {
    setChoice(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // Without storage, the choice is kept until the page is closed.
    }
  };
  return {
    choice,
    show: (id, isShown) => store({ ...choice, [id]: isShown }),
    reset: () => store({}),
  };
}
