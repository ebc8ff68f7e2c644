/** Mantine theme with the colors of theme.css: neutral surfaces and one accent color. */
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const accent: MantineColorsTuple = [
  '#e8effc',
  '#cfdcf7',
  '#a9c3f5',
  '#7eaaf8',
  '#5a8dea',
  '#3d74db',
  '#2459c4',
  '#1e4da9',
  '#183f8c',
  '#12316e',
];

const dark: MantineColorsTuple = [
  '#e5e9ef',
  '#c3cad4',
  '#9ca7b6',
  '#6b7686',
  '#4a5464',
  '#2b323c',
  '#1f242c',
  '#171b21',
  '#101318',
  '#0b0d11',
];

/** Help text below the input, so that fields in a row stay aligned. */
const field = {
  defaultProps: {
    size: 'sm',
    inputWrapperOrder: ['label', 'input', 'error', 'description'] as const,
  },
};
const closable = { closeButtonProps: { 'aria-label': 'Close' } };
const titled = { title: { fontWeight: 600 } };

export const theme = createTheme({
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: 'var(--mono)',
  colors: { accent, dark },
  primaryColor: 'accent',
  primaryShade: { light: 6, dark: 6 },
  defaultRadius: 'sm',
  fontSizes: { xs: '12px', sm: '13px', md: '13px', lg: '16px', xl: '20px' },
  respectReducedMotion: true,
  components: {
    // Mantine's yellow title of yellow alerts has too little contrast.
    Alert: { styles: { title: { color: 'var(--text)' } } },
    Button: { defaultProps: { size: 'xs' } },
    TextInput: field,
    PasswordInput: field,
    NumberInput: field,
    NativeSelect: field,
    InputWrapper: { defaultProps: { inputWrapperOrder: field.defaultProps.inputWrapperOrder } },
    Drawer: { defaultProps: closable, styles: titled },
    SegmentedControl: {
      defaultProps: { size: 'xs' },
      styles: {
        root: { background: 'var(--surface-2)' },
        indicator: { background: 'var(--surface)' },
      },
    },
    Tooltip: { defaultProps: { openDelay: 300, multiline: true, maw: 320, withArrow: true } },
    Skeleton: { classNames: { root: 'skeleton' } },
    // The placeholder is an invalid child of a menu for screen readers.
    Menu: {
      defaultProps: {
        shadow: 'sm',
        transitionProps: { duration: 80 },
        withInitialFocusPlaceholder: false,
      },
    },
    Modal: { defaultProps: { ...closable, transitionProps: { duration: 100 } }, styles: titled },
  },
});

export const cssVariables = () => ({
  variables: {},
  light: {
    '--mantine-color-body': 'var(--surface)',
    '--mantine-color-text': 'var(--text)',
    '--mantine-color-dimmed': 'var(--text-dim)',
    '--mantine-color-default-border': 'var(--border)',
    '--mantine-color-placeholder': 'var(--text-dim)',
    '--mantine-color-error': 'var(--broken)',
    '--mantine-color-anchor': 'var(--accent)',
  },
  dark: {
    '--mantine-color-body': 'var(--surface)',
    '--mantine-color-text': 'var(--text)',
    '--mantine-color-dimmed': 'var(--text-dim)',
    '--mantine-color-default': 'var(--surface-2)',
    '--mantine-color-default-border': 'var(--border)',
    '--mantine-color-placeholder': 'var(--text-dim)',
    '--mantine-color-error': 'var(--broken)',
    '--mantine-color-anchor': 'var(--accent)',
  },
});
