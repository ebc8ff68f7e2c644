/** Sign-in page. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { SignIn } from '@/features/session/SignIn';

export function LoginPage() {
  const { next, refused } = useSearch({ from: '/login' });
  const navigate = useNavigate();
  return (
    <SignIn
      next={next}
      ssoError={refused}
      onDone={() => navigate({ href: next ?? '/', replace: true })}
    />
  );
}
