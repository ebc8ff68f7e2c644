/**
 * Dialog to add a node. It shows the command to run on the new machine and reports when the node
 * has joined.
 */
import { Alert, Button, type ButtonProps, Loader, Modal } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { createJoinToken, nodesQuery, zoneError } from '@/api/cluster/nodes';
import { policyQuery } from '@/api/cluster/policy';
import { messageOf } from '@/api/http';
import type { JoinToken } from '@/api/types';
import { duration } from '@/lib/time';
import { useNow } from '@/ui/Ago';
import { CopyBlock } from '@/ui/Copy';
import { Status } from '@/ui/Status';
import classes from './nodes.module.css';
import { ZoneInput } from './ZoneInput';

export function AddNodeButton(props: ButtonProps) {
  const [open, setOpen] = useState(false);
  const may = usePermission('administer');
  return (
    <>
      <Button
        {...props}
        disabled={!may}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={() => setOpen(true)}
      >
        Add node
      </Button>
      {open && <AddNodeDialog onClose={() => setOpen(false)} />}
    </>
  );
}

export function AddNodeDialog({ onClose }: { onClose: () => void }) {
  const { data: nodes } = useQuery(nodesQuery);
  const [existing] = useState(() => new Set(nodes?.map(({ uid }) => uid)));
  const [token, setToken] = useState<JoinToken | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [zone, setZone] = useState('');
  const isZoneRequired = useQuery(policyQuery).data?.rack_aware === true;
  const isZoneValid = !zoneError(zone) && (zone !== '' || !isZoneRequired);
  const newNodes = nodes?.filter(({ uid }) => !existing.has(uid)) ?? [];

  useEffect(() => {
    let open = true;
    createJoinToken()
      .then((created) => open && setToken(created))
      .catch((failure) => open && setError(messageOf(failure)));
    return () => {
      open = false;
    };
  }, []);

  return (
    <Modal opened onClose={onClose} title="Add node" size="lg" centered>
      <div className={classes.dialog}>
        <span>
          Run this command on the new machine. Shardboard and <code>valkey-server</code> must be
          installed there. The token can be used once{token && <Expiry at={token.expires_at} />}.
        </span>
        {error && (
          <Alert color="red" role="alert">
            {error}
          </Alert>
        )}
        <ZoneInput
          label="Zone"
          description={
            isZoneRequired
              ? 'The rack or availability zone of the machine. The cluster is rack-aware, so every node needs one.'
              : 'The rack or availability zone of the machine, if you use rack-zone awareness. It can be changed later.'
          }
          required={isZoneRequired}
          zone={zone}
          onChange={setZone}
        />
        {token
          ? isZoneValid && (
              <CopyBlock text={joinCommand(token.command, zone)} label="Copy command" />
            )
          : !error && <Loader size="sm" />}
        <div className={classes.newNodes} role="status">
          {newNodes.length ? (
            newNodes.map((node) => (
              <Status key={node.uid} tone="ok">{`Node ${node.uid} (${node.addr}) joined`}</Status>
            ))
          ) : (
            <Status tone="progress">Waiting for the node to join</Status>
          )}
        </div>
        <div className={classes.buttons}>
          <Button variant={newNodes.length ? 'filled' : 'default'} onClick={onClose}>
            {newNodes.length ? 'Done' : 'Close'}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

/** A valid zone has no characters that a shell interprets. */
const joinCommand = (command: string, zone: string) =>
  zone ? `${command} --rack-id ${zone}` : command;

function Expiry({ at }: { at: string }) {
  const now = useNow();
  const remaining = (Date.parse(at) - now) / 1000;
  if (Number.isNaN(remaining)) return null;
  return remaining > 0
    ? ` and expires in ${duration(remaining)}`
    : ' and has expired. Open this dialog again';
}
