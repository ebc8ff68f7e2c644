/** Duration and verification of backups, for tables and details. */
import { IconLock } from '@tabler/icons-react';
import type { Backup } from '@/api/types';
import { Ago, useNow } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { durationText, verification } from './backupText';

export function Duration({ of }: { of: Pick<Backup, 'created_at' | 'finished_at'> }) {
  return of.finished_at ? (
    <span className="num">{durationText(of, 0)}</span>
  ) : (
    <RunningDuration of={of} />
  );
}

function RunningDuration({ of }: { of: Pick<Backup, 'created_at' | 'finished_at'> }) {
  return <span className="num">{durationText(of, useNow())}</span>;
}

/** Lock that marks encrypted backups. */
export function EncryptedMark({ backup }: { backup: Pick<Backup, 'is_encrypted'> }) {
  if (!backup.is_encrypted) return null;
  return (
    <span role="img" aria-label="Encrypted" title="Encrypted">
      <IconLock size={13} aria-hidden />
    </span>
  );
}

export function Verified({ backup }: { backup: Backup }) {
  const result = verification(backup);
  if (!result) return <Dash reason="The backup has not been verified" />;
  return (
    <Status tone={result.tone} title={result.title}>
      <span>
        {result.text} {backup.verified && <Ago time={backup.verified.at} />}
      </span>
    </Status>
  );
}
