// Floors: tokens < api < model < panel < plugin < index. A file imports only lower floors.
import js from '@eslint/js';
import reactHooks from 'eslint-plugin-react-hooks';
import tseslint from 'typescript-eslint';

/** The floors above `api`, lowest first, of each domain; a file that is not named here may not exist. */
const DOMAINS = {
  gpu: {
    model: [
      'activity',
      'attention',
      'bands',
      'brief',
      'figures',
      'fleet',
      'format',
      'heat',
      'holders',
      'holding',
      'live',
      'model',
      'series',
      'settings',
      'stats',
      'words'
    ],
    panel: [
      'banner',
      'chart',
      'context',
      'cursor',
      'heatstrip',
      'holderList',
      'hub',
      'line',
      'marks',
      'node',
      'nodes',
      'panel',
      'readout',
      'row',
      'status',
      'strip',
      'table',
      'toolbar'
    ],
    plugin: ['cells', 'offers', 'owners', 'plugin']
  },
  runs: {
    api: ['api', 'context', 'mlflow', 'place', 'record'],
    model: [
      'card',
      'columns',
      'completion',
      'experiment',
      'experiments',
      'figures',
      'filter',
      'format',
      'inView',
      'lead',
      'links',
      'live',
      'model',
      'problem',
      'rest',
      'runList',
      'selection',
      'settings',
      'tree',
      'view',
      'whereabouts',
      'words'
    ],
    panel: [
      'chooser',
      'combobox',
      'experimentContext',
      'experimentPanel',
      'frame',
      'header',
      'keys',
      'output',
      'picker',
      'search',
      'states',
      'table',
      'tableRow'
    ],
    plugin: ['actions', 'cards', 'experimentPlugin', 'experimentStart', 'plugin', 'tabs']
  }
};

const modules = names => names.map(name => `**/${name}`);

const application = { group: ['@jupyterlab/application'], message: 'Only plugin.ts sees the application.' };
const views = {
  group: ['react', 'react-dom', '@jupyterlab/ui-components', '@lumino/widgets'],
  message: 'Views begin with the panel floor.'
};
const charts = { group: ['uplot', 'uplot/*'], message: 'Only chart.ts knows uPlot.' };
const above = (names, floor) => ({ group: modules(names), message: `These stand above the ${floor} floor.` });
const restrict = (...patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });

/** What each floor of a domain may not import. */
function floors([domain, { api = [], model, panel, plugin }]) {
  const files = names => names.map(name => `src/${domain}/${name}.{ts,tsx}`);
  const others = Object.keys(DOMAINS).filter(name => name !== domain);
  const foreign = {
    group: others.map(name => `**/${name}/*`),
    message: 'The domains know nothing of each other.'
  };
  const config = (names, ...patterns) =>
    names.length ? [{ files: files(names), rules: restrict(foreign, ...patterns) }] : [];
  return [
    ...config(api, above([...model, ...panel, ...plugin], 'api'), application, views, charts),
    ...config(model, above([...panel, ...plugin], 'model'), application, views, charts),
    ...config(panel, above(plugin, 'panel'), application, charts),
    ...config(plugin, application, charts),
    ...config(['plugin'], charts),
    {
      files: [`src/${domain}/*.{ts,tsx}`],
      ignores: files([...api, ...model, ...panel, ...plugin]),
      rules: {
        'no-restricted-syntax': [
          'error',
          { selector: 'Program', message: 'Name the floor of this file in eslint.config.mjs.' }
        ]
      }
    }
  ];
}

const tests = ['src/**/__tests__/**', 'ui-tests/*.ts'];

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/',
      'lib/',
      '.venv/',
      '.venvs/',
      '.build/',
      'jupyter_air/labextension/',
      'ui-tests/results/'
    ]
  },
  js.configs.recommended,
  {
    files: ['src/**/*.{ts,tsx}', 'ui-tests/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    plugins: { 'react-hooks': reactHooks },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...reactHooks.configs.recommended.rules,
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], prefix: ['I'] },
        {
          selector: 'memberLike',
          modifiers: ['private'],
          format: ['camelCase'],
          leadingUnderscore: 'require'
        }
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // Lumino binds: `signal.connect(this.method, this)`.
      '@typescript-eslint/unbound-method': 'off',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }]
    }
  },
  {
    files: ['src/tokens.ts'],
    rules: restrict(
      { group: ['./*', '../*'], message: 'tokens.ts is the ground floor.' },
      application,
      views,
      charts
    )
  },
  {
    files: ['src/api.ts'],
    rules: restrict(
      { group: Object.keys(DOMAINS).map(name => `**/${name}/*`), message: 'The domains stand above api.ts.' },
      application,
      views,
      charts
    )
  },
  {
    files: ['src/signal.ts', 'src/sidebar.ts'],
    rules: restrict(
      { group: Object.keys(DOMAINS).map(name => `**/${name}/*`), message: 'The domains share these.' },
      application,
      charts
    )
  },
  ...Object.entries(DOMAINS).flatMap(floors),
  { files: ['src/gpu/chart.ts'], rules: restrict(above(DOMAINS.gpu.plugin, 'panel'), application) },
  { files: ['src/index.ts'], rules: restrict(charts) },
  {
    files: tests,
    rules: {
      'max-lines': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      'no-restricted-imports': 'off'
    }
  },
  { files: ['src/__tests__/*.js'], rules: { 'no-undef': 'off' } },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: { module: 'readonly', process: 'readonly', require: 'readonly', console: 'readonly' }
    }
  }
);
