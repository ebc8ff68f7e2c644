/** Slim row for one matter that needs attention: an icon, a sentence, and what to do about it. */
import type { ReactNode } from 'react';
import { StatusIcon, type Tone } from './Status';
import classes from './ui.module.css';

interface Props {
  tone?: Tone;
  /** Icon of a matter without a state, instead of the icon of the tone. */
  icon?: ReactNode;
  children: ReactNode;
  /** Button or link at the end. */
  action?: ReactNode;
}

export function Strip({ tone = 'unknown', icon, children, action }: Props) {
  return (
    <div className={classes.strip}>
      {icon ?? <StatusIcon tone={tone} />}
      <span>{children}</span>
      {action}
    </div>
  );
}
