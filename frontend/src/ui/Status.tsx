/** State as text with an icon and a color. The color is never the only indicator. */
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleXFilled,
  IconHelpCircleFilled,
  IconLoader2,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import classes from './ui.module.css';

export type Tone = 'ok' | 'attention' | 'broken' | 'progress' | 'unknown';

const ICONS = {
  ok: IconCircleCheckFilled,
  attention: IconAlertTriangleFilled,
  broken: IconCircleXFilled,
  progress: IconLoader2,
  unknown: IconHelpCircleFilled,
} as const;

export function StatusIcon({ tone, size = 14 }: { tone: Tone; size?: number }) {
  const Icon = ICONS[tone];
  return (
    <Icon
      size={size}
      aria-hidden
      className={tone === 'progress' ? classes.spin : undefined}
      style={{ color: `var(--${tone})`, flex: 'none' }}
    />
  );
}

interface Props {
  tone: Tone;
  children: ReactNode;
  /** Whether to render a tinted chip, for headers. */
  chip?: boolean;
  title?: string;
}

export function Status({ tone, children, chip, title }: Props) {
  return (
    <span className={chip ? classes.chip : classes.status} data-tone={tone} title={title}>
      <StatusIcon tone={tone} />
      {children}
    </span>
  );
}
