/** Page on which a user confirms the sign-in of a program. */
import { ConfirmDevice } from '@/features/session/ConfirmDevice';
import { Card } from '@/ui/Card';
import classes from './pages.module.css';

export function DevicePage() {
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Sign in a program</h1>
      </div>
      <Card>
        <ConfirmDevice />
      </Card>
    </div>
  );
}
