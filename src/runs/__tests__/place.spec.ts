import { addressOf, folderOf, keyOf } from '../place';

const BASE = 'http://lab.example:8888/user/ada@lab/';

describe('the address of MLflow through Jupyter', () => {
  // The same as tests/server/test_beside.py has them.
  it.each([
    ['Lw', '/'],
    ['L293bg', '/own'],
    ['L2EgYi_DvD8l', '/a b/ü?%']
  ])('of the store that %s stands for is of the folder %s', (key, folder) => {
    expect(folderOf(key)).toBe(folder);
    const address = addressOf(BASE, key);
    expect(address).toBe(`/user/ada@lab/jupyter-air/mlflow-beside/${key}/`);
    expect(keyOf(BASE, `${address}#/experiments/1/runs/2`)).toBe(key);
  });

  it('of the main one has no key', () => {
    expect(addressOf(BASE, '')).toBe('/user/ada@lab/jupyter-air/mlflow/');
    expect(keyOf(BASE, '/user/ada@lab/jupyter-air/mlflow/')).toBe('');
  });

  it.each([
    'https://mlflow.lab/',
    '/user/eve/jupyter-air/mlflow/',
    '/user/ada@lab/jupyter-air/mlflow-beside/'
  ])('is not %s', page => expect(keyOf(BASE, page)).toBeNull());

  it('may be of no folder', () => {
    expect(folderOf('_w')).toBe('_w');
    expect(folderOf('L')).toBe('L');
  });
});
