/** The way in. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { SignIn } from '@/features/session/SignIn';

export function LoginPage() {
  const { next } = useSearch({ from: '/login' });
  const navigate = useNavigate();
  return <SignIn onDone={() => navigate({ href: next ?? '/', replace: true })} />;
}
