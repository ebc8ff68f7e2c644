/** The rules of the cluster. */
import { useMay } from '@/api/session';
import { PolicyForm } from '@/features/settings/PolicyForm';
import classes from './pages.module.css';

export function SettingsPage() {
  const may = useMay('administer');
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Settings</h1>
      </div>
      <PolicyForm may={may} />
    </div>
  );
}
