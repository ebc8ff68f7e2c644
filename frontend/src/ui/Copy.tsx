/** Text with a copy button: as a block for commands, or inline. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useState } from 'react';
import { copyText } from '@/lib/clipboard';
import classes from './ui.module.css';

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <Tooltip label={copied ? 'Copied' : label}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={copy}>
        {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <figure className={classes.copy}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <pre tabIndex={0}>{text}</pre>
      <div className={classes.copyButton}>
        <CopyButton text={text} label={label} />
      </div>
    </figure>
  );
}

export function CopyInline({ text, label }: { text: string; label: string }) {
  return (
    <span className={classes.inlineCopy}>
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}
