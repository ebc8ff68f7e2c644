/** Focus of the first invalid field of a form. */

const CONTROLS = 'input, select, textarea, button, [tabindex]';

/** Move the focus to the first field that is marked as invalid, once React has marked it. Groups of controls have `data-invalid`. */
export function focusFirstError(form: HTMLElement): void {
  requestAnimationFrame(() => {
    const field = form.querySelector<HTMLElement>('[aria-invalid="true"], [data-invalid]');
    const control = field?.matches(CONTROLS) ? field : field?.querySelector<HTMLElement>(CONTROLS);
    control?.focus();
  });
}
