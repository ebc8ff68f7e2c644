/** Uploads of one dialog: one file after another, with progress. Files that are not imported are deleted when it closes. */
import { useEffect, useRef, useState } from 'react';
import { createUpload, deleteUpload, sendUpload } from '@/api/data/uploads';
import { messageOf } from '@/api/http';
import type { Bdb, Upload } from '@/api/types';

export interface UploadState {
  key: number;
  name: string;
  bytes: number;
  sent: number;
  /** Set when the file is complete. */
  upload?: Upload;
  error?: string;
}

export interface Uploads {
  states: readonly UploadState[];
  add: (files: readonly File[], location: number | undefined) => void;
  /** Cancel or delete an upload. */
  remove: (key: number) => void;
  /** Keep the files, because an import uses them. */
  keep: () => void;
}

interface Task {
  controller: AbortController;
  created?: Upload;
}

export function useUploads(bdb: Bdb, onChange: (uploads: readonly Upload[]) => void): Uploads {
  const [states, setStates] = useState<readonly UploadState[]>([]);
  const tasks = useRef(new Map<number, Task>());
  const queue = useRef(Promise.resolve());
  const isKept = useRef(false);
  const nextKey = useRef(0);

  const update = (key: number, part: Partial<UploadState>) =>
    setStates((now) => now.map((each) => (each.key === key ? { ...each, ...part } : each)));

  const discard = (key: number) => {
    const task = tasks.current.get(key);
    tasks.current.delete(key);
    task?.controller.abort();
    // A file whose deletion fails is deleted when it expires.
    if (task?.created) retryWhileRunning(task.created).catch(() => undefined);
  };

  const send = async (key: number, file: File, location: number | undefined) => {
    const task = tasks.current.get(key);
    if (!task) return;
    try {
      task.created = await createUpload(bdb.uid, {
        name: file.name,
        bytes: file.size,
        ...(location !== undefined && { location_uid: location }),
      });
      if (task.controller.signal.aborted) {
        await deleteUpload(task.created);
        return;
      }
      const report = (sent: number) => update(key, { sent });
      const upload = await sendUpload(task.created, file, report, task.controller.signal);
      update(key, { upload, sent: file.size });
    } catch (error) {
      if (!task.controller.signal.aborted) update(key, { error: messageOf(error) });
    }
  };

  const uploaded = states.flatMap(({ upload }) => (upload ? [upload] : []));
  const isComplete = uploaded.length === states.length;
  const ids = isComplete ? uploaded.map(({ uid }) => uid).join() : '';
  // biome-ignore lint/correctness/useExhaustiveDependencies: reported when the set of complete files changes
  useEffect(() => onChange(isComplete ? uploaded : []), [ids]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the dialog closes
  useEffect(
    () => () => {
      if (!isKept.current) for (const key of [...tasks.current.keys()]) discard(key);
    },
    [],
  );

  return {
    states,
    add: (files, location) => {
      for (const file of files) {
        const key = nextKey.current++;
        tasks.current.set(key, { controller: new AbortController() });
        const { name, size: bytes } = file;
        setStates((now) => [...now, { key, name, bytes, sent: 0 }]);
        queue.current = queue.current.then(() => send(key, file, location));
      }
    },
    remove: (key) => {
      discard(key);
      setStates((now) => now.filter((each) => each.key !== key));
    },
    keep: () => {
      isKept.current = true;
    },
  };
}

const RETRIES = 5;
const RETRY_MS = 400;

/** Delete an upload. The console needs a moment to notice that it was cancelled. */
async function retryWhileRunning(upload: Upload): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await deleteUpload(upload);
      return;
    } catch (error) {
      if (attempt === RETRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
