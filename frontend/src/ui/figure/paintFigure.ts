/** Writes a figure to an element without rendering. Only parts that changed are updated. */
import { format, formatExact, UNKNOWN, type Unit } from '@/lib/format';
import { type FigureState, figureHint, figureNote } from './figureState';

/** Whether a value needs attention. */
export type Alert = 'attention' | 'broken' | undefined;

interface Options {
  /** Element of the value; `data-state` is set on it. */
  element: HTMLElement;
  /** Element of the text beside it; null if only the tooltip explains the state. */
  note?: HTMLElement | null;
  unit: Unit;
  write?: (unit: Unit, value: number) => string;
  /** Additional tooltip of a current value. */
  title?: string | undefined;
  tone?: Alert;
}

export function paintFigure(state: FigureState, options: Options): void {
  const { element, note = null, unit, write = format, title, tone } = options;
  const isKnown = state.kind !== 'unknown';
  setText(element, isKnown ? write(unit, state.value) : UNKNOWN);
  if (note) setText(note, figureNote(state));
  const hint = [isKnown && (title ?? formatExact(unit, state.value)), figureHint(state)];
  const text = hint.filter(Boolean).join('. ');
  if (element.title !== text) element.title = text;
  setData(element, 'state', state.kind);
  setData(element, 'alert', isKnown ? tone : undefined);
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function setData(element: HTMLElement, name: string, value: string | undefined): void {
  if (element.dataset[name] === value) return;
  if (value) element.dataset[name] = value;
  else delete element.dataset[name];
}
