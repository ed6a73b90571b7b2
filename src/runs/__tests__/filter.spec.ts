import { nullTranslator } from '@jupyterlab/translation';
import { AirError } from '../../api';
import { SeenNames } from '../columns';
import { complete } from '../completion';
import { allOf, equals, filterOf, isFilter, refusal } from '../filter';
import { decodeRun } from '../mlflow';

const trans = nullTranslator.load('jupyter-air');

describe('the search', () => {
  it.each([
    ['', ''],
    ['base line', "attributes.run_name ILIKE '%base%' AND attributes.run_name ILIKE '%line%'"],
    ['failed Base', "attributes.status = 'FAILED' AND attributes.run_name ILIKE '%Base%'"],
    ['"failed"', "attributes.run_name ILIKE '%failed%'"],
    // Nothing can leave the quotes, and no word is a wildcard.
    [`it's`, "attributes.run_name ILIKE '%it_s%'"],
    ['100%\\', "attributes.run_name ILIKE '%100__%'"],
    ['`;--', "attributes.run_name ILIKE '%__--%'"],
    ['שלום', "attributes.run_name ILIKE '%שלום%'"],
    ['constructor', "attributes.run_name ILIKE '%constructor%'"],
    ['metrics.loss < 0.5', 'metrics.loss < 0.5'],
    ["  tags.`a b` LIKE '%x%' ", "tags.`a b` LIKE '%x%'"]
  ])('%s', (typed, filter) => {
    expect(filterOf(typed)).toBe(filter);
  });

  it('tells filters from words', () => {
    expect(
      ['loss<1', 'metrics.l', "name like 'a'", 'params.x IS NULL', "status in ('a')"].filter(isFilter)
    ).toHaveLength(5);
    expect(
      ['in the end', 'as I like it', 'v1.2', '"a = b"', 'is null'].filter(text => !isFilter(text))
    ).toHaveLength(4);
  });

  it('compares with any text', () => {
    expect(equals('tags.x', '/home/a b_c.ipynb')).toBe("tags.x = '/home/a b_c.ipynb'");
    expect(equals('tags.x', `it's "x"\\`)).toBe("tags.x LIKE 'it_s _x__'");
    expect(allOf('', 'a', '', 'b')).toBe('a AND b');
  });

  it.each([
    ["Invalid clause(s) in filter string: 'OR'", 'by AND only'],
    ["Invalid clause(s) in filter string: 'foo'", 'name, comparison, value'],
    ["Invalid entity type 'a'. Valid values are", '“a” is none of'],
    ["Invalid attribute key 'loss' specified.", 'Write metrics.loss'],
    ["Invalid comparison clause. Expected 'Identifier' found 'metrics.eval/acc'", 'metrics.`eval/acc`'],
    ["Expected a quoted string value for parameter (e.g. 'my-value'). Got value 0.1", 'in quotes'],
    ["Expected numeric value type for metric. Found 'a'", 'with a number'],
    ["Invalid comparator '>' not one of", 'not possible here'],
    [`Anything else ${'x'.repeat(1000)}`, 'MLflow refuses this: Anything']
  ])('puts into words: %s', (said, words) => {
    const sentence = refusal(new AirError('INVALID_PARAMETER_VALUE', said, null, 400), trans);
    expect(sentence).toContain(words);
    expect(sentence.length).toBeLessThan(350);
  });
});

describe('completion', () => {
  const seen = new SeenNames();
  seen.add([
    decodeRun({
      info: { run_id: 'a', experiment_id: '1', run_name: 'a', lifecycle_stage: 'active' },
      data: {
        metrics: [
          { key: 'loss', value: 1 },
          { key: 'eval/loss', value: 1 },
          { key: 'from', value: 1 }
        ],
        params: [{ key: 'lr', value: '1' }],
        tags: [{ key: 'mlflow.user', value: 'ada' }]
      }
    })
  ]);
  const texts = (text: string, cursor = text.length): string[] =>
    complete(text, cursor, seen).items.map(item => item.text);

  it('offers names from their beginning, then from anywhere', () => {
    expect(texts('metrics.')).toEqual(['metrics.`eval/loss`', 'metrics.`from`', 'metrics.loss']);
    expect(texts('loss')).toEqual(['metrics.loss', 'metrics.`eval/loss`']);
    expect(texts('metrics.`ev')).toEqual(['metrics.`eval/loss`']);
    expect(texts('tags.u')).toEqual(['tags.`mlflow.user`']);
    expect(texts('params.u')).toEqual([]);
  });

  it('knows what stands before the cursor', () => {
    expect(complete('metrics.lo < 1', 10, seen)).toMatchObject({ from: 0, to: 10 });
    expect(texts('metrics.loss < 1 ')).toEqual(['AND ']);
    expect(texts("params.lr = 'met")).toEqual([]);
    expect(texts('attributes.status = ')).toContain("'FAILED'");
    expect(texts("attributes.status = 'FI")).toEqual(["'FINISHED'"]);
    expect(complete('metrics.loss < 1 AND par', 24, seen)).toMatchObject({ from: 21, to: 24 });
    expect(texts('')).toEqual([]);
    expect(complete('', 0, seen, true).items.length).toBeGreaterThan(8);
  });
});
