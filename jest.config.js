/** Written by hand: `@jupyterlab/testing` would bring its own jest and 200 MB. */
const esModules = [
  '@codemirror',
  '@jupyter',
  '@jupyterlab',
  '@lezer',
  '@lumino',
  '@microsoft',
  '@rjsf',
  'color',
  'exenv-es6',
  'lib0',
  'lodash-es',
  'nanoid',
  'uplot',
  'y-protocols',
  'yjs'
].join('|');

module.exports = {
  testEnvironment: '<rootDir>/src/__tests__/environment.js',
  roots: ['<rootDir>/src'],
  testMatch: ['**/__tests__/**/*.spec.{ts,tsx}'],
  setupFiles: ['<rootDir>/src/__tests__/browser.js'],

  transform: {
    '\\.(svg|css)$': '<rootDir>/src/__tests__/text.js',
    '\\.[cm]?[jt]sx?$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', tsx: true },
          transform: { react: { runtime: 'classic' } }
        },
        module: { type: 'commonjs' }
      }
    ]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${esModules})/)`],
  restoreMocks: true
};
