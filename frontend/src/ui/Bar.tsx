/** Thin progress bar. */
import classes from './ui.module.css';

interface Props {
  /** 0 to 1. */
  value: number;
  label: string;
}

export function Bar({ value, label }: Props) {
  const percent = Math.round(Math.min(1, Math.max(0, value || 0)) * 100);
  return (
    <div
      className={classes.bar}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}
