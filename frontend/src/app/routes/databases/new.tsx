/** Page for creating a database. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/databases/bdbs';
import { CreateForm } from '@/features/databases/create/CreateForm';
import classes from '../pages.module.css';

export function DatabaseNewPage() {
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <div className={classes.page}>
      <h1>Create database</h1>
      <CreateForm
        onCreated={(bdb) => {
          client.setQueryData(bdbsQuery.queryKey, (list = []) =>
            list.some(({ uid }) => uid === bdb.uid) ? list : [...list, bdb],
          );
          return navigate({ to: '/databases/$uid/shards', params: { uid: String(bdb.uid) } });
        }}
      />
    </div>
  );
}
