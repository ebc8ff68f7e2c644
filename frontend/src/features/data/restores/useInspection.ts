/** Hook that starts an inspection of files, and provides its progress and report. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { cancelAction } from '@/api/cluster/actions';
import { reportQuery, restoresQuery, startInspection, useRestores } from '@/api/data/restores';
import type { ImportReport, InspectRequest, Restore } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';

export interface Inspection {
  /** Undefined until an inspection was started. */
  uid: number | undefined;
  row: Restore | undefined;
  /** Undefined until all files were inspected. */
  report: ImportReport | undefined;
  start: (request: InspectRequest) => Promise<void>;
  /** Cancel a running inspection. */
  cancel: () => void;
  /** Cancel a running inspection, and show no result of it. */
  clear: () => void;
}

export function useInspection(bdb: number): Inspection {
  const [uid, setUid] = useState<number>();
  const row = useRestores(bdb).data?.find((restore) => restore.uid === uid);
  const ended = row?.status === 'succeeded';
  const report = useQuery({ ...reportQuery(uid ?? 0), enabled: ended }).data;
  const invalidateAfter = useInvalidateAfter(restoresQuery);
  const cancel = () => {
    // If it has just ended, the request is refused, which makes no difference.
    if (row?.status === 'running') cancelAction(row.action_uid).catch(() => undefined);
  };
  return {
    uid,
    row,
    report: ended ? report : undefined,
    start: async (request) => {
      const started = await invalidateAfter(startInspection(bdb, request));
      setUid(started.restore_uid);
    },
    cancel,
    clear: () => {
      cancel();
      setUid(undefined);
    },
  };
}
