/** Dialog that an action of the command palette opens: the same one as on the page of the object. */
import { useNavigate } from '@tanstack/react-router';
import { BackUpNow } from '@/features/data/backups/BackUpNow';
import { DatabaseDialog } from '@/features/databases/header/DatabaseDialog';
import { AddNodeDialog } from '@/features/nodes/AddNode';
import { SwitchOverDialog } from '@/features/placement/FailOver';
import type { PaletteDialogRequest } from './entry';

interface Props {
  request: PaletteDialogRequest;
  onClose: () => void;
}

export function PaletteDialog({ request, onClose }: Props) {
  const navigate = useNavigate();
  if (request.name === 'addNode') return <AddNodeDialog onClose={onClose} />;
  if (request.name === 'backUp') return <BackUpNow bdb={request.bdb} onClose={onClose} />;
  if (request.name === 'switchOver')
    return (
      <SwitchOverDialog primary={request.primary} replica={request.replica} onClose={onClose} />
    );
  return (
    <DatabaseDialog
      bdb={request.bdb}
      dialog={request.dialog}
      onClose={onClose}
      onDeleted={() => void navigate({ to: '/databases' })}
    />
  );
}
