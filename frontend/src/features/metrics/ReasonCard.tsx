/** Placeholder of a chart without data, with the reason. */
import { IconClockPause } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './metrics.module.css';

interface Props {
  id: string;
  title: string;
  reason: string;
  height: number;
  actions?: ReactNode;
}

export function ReasonCard({ id, title, reason, height, actions }: Props) {
  return (
    <section id={id} className={classes.reason} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      <div style={{ minHeight: height }}>
        <IconClockPause size={24} stroke={1.4} aria-hidden />
        <p>{reason}</p>
      </div>
    </section>
  );
}
