/** Files of the user's computer that are uploaded for an import: chosen or dropped, with their progress. */
import { ActionIcon, Button, FileButton, NativeSelect } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type DragEvent, useState } from 'react';
import { locationsQuery } from '@/api/data/locations';
import { format, formatExact } from '@/lib/format';
import { Bar } from '@/ui/Bar';
import { Status } from '@/ui/Status';
import classes from '../data.module.css';
import type { UploadState, Uploads } from './useUploads';

export function UploadFiles({ uploads }: { uploads: Uploads }) {
  const { data: locations } = useQuery(locationsQuery);
  const [chosen, setChosen] = useState<number>();
  const [isOver, setIsOver] = useState(false);
  if (locations?.length === 0)
    return (
      <p>
        Uploaded files are stored in a location until they are imported. An administrator can add
        one on the <Link to="/databases/backups">Backups</Link> page.
      </p>
    );
  const location = chosen ?? locations?.[0]?.uid;
  const add = (files: Iterable<File>) => uploads.add([...files], location);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    add(event.dataTransfer.files);
  };
  return (
    <>
      {locations && locations.length > 1 && (
        <NativeSelect
          label="Stored in"
          description="All nodes read the files from this location. They are deleted after the import."
          value={String(location ?? '')}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
          data={locations.map(({ uid, name }) => ({ value: String(uid), label: name }))}
        />
      )}
      <section
        className={classes.drop}
        aria-label="Files to upload"
        data-over={isOver || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <FileButton multiple onChange={add}>
          {(props) => (
            <Button {...props} variant="default">
              Choose files…
            </Button>
          )}
        </FileButton>
        <span className="dim">or drop RDB files here</span>
      </section>
      {uploads.states.length > 0 && (
        <ul className={classes.uploads} aria-label="Uploads">
          {uploads.states.map((state) => (
            <UploadRow key={state.key} state={state} onRemove={() => uploads.remove(state.key)} />
          ))}
        </ul>
      )}
      {uploads.states.some(({ error }) => error) && (
        <span className="dim">Remove files that failed to continue, or choose them again.</span>
      )}
    </>
  );
}

function UploadRow({ state, onRemove }: { state: UploadState; onRemove: () => void }) {
  const { name, bytes, sent, upload, error } = state;
  return (
    <li>
      <span className={classes.uploadName} title={name}>
        {name}
      </span>
      <span className="num dim" title={formatExact('bytes', bytes)}>
        {upload || error ? '' : `${format('bytes', sent)} of `}
        {format('bytes', bytes)}
      </span>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={upload || error ? `Remove ${name}` : `Cancel upload of ${name}`}
        onClick={onRemove}
      >
        <IconX size={15} />
      </ActionIcon>
      <div className={classes.uploadState} role="status">
        {error ? (
          <>
            <Status tone="broken">Failed</Status>
            <span className={classes.checkError}>{error}</span>
          </>
        ) : upload ? (
          <Status tone="ok">Uploaded</Status>
        ) : (
          <Bar value={bytes ? sent / bytes : 0} label={`Upload of ${name}`} />
        )}
      </div>
    </li>
  );
}
