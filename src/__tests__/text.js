/** An icon is its text, as in the bundle; a style sheet is nothing. */
module.exports = {
  process: (source, file) => ({
    code: `module.exports = { __esModule: true, default: ${JSON.stringify(file.endsWith('.svg') ? source : '')} };`
  })
};
