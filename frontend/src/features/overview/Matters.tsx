/** Strips for what needs attention besides the heading: further problems, and what the page adds. */
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Strip } from '@/ui/Strip';
import { ProblemText } from './Health';
import classes from './overview.module.css';
import type { Problem } from './problems';

/** Maximum number of problems, so that the charts stay on the first screen. */
const MAX_SHOWN = 3;

interface Props {
  /** All problems. The heading shows the first one. */
  problems: readonly Problem[];
  /** Other strips. */
  children?: ReactNode;
}

export function Matters({ problems, children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const rest = problems.slice(1);
  const shown = isOpen ? rest : rest.slice(0, MAX_SHOWN);
  const hidden = rest.length - shown.length;
  return (
    <div className={classes.matters}>
      {shown.map((problem) => (
        <Strip key={problem.text} tone={problem.tone}>
          <ProblemText problem={problem} />
        </Strip>
      ))}
      {hidden > 0 && (
        <Button variant="subtle" size="compact-sm" onClick={() => setOpen(true)}>
          Show {hidden} more
        </Button>
      )}
      {children}
    </div>
  );
}
