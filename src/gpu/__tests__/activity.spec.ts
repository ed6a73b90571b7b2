import { Activity } from '../activity';

describe('Activity', () => {
  let now = 0;
  let wanted = true;
  const send = jest.fn(() => Promise.resolve());
  let activity: Activity;

  beforeEach(() => {
    now = 0;
    wanted = true;
    send.mockClear().mockResolvedValue(undefined);
    activity = new Activity({ isWanted: () => wanted, send, now: () => now });
  });

  it('sends at most once in 30 s', () => {
    for (; now < 60_000; now += 100) {
      activity.note();
    }
    expect(send).toHaveBeenCalledTimes(2);
  });

  it('is silent while nobody looks at the pane', () => {
    wanted = false;
    activity.note();
    expect(send).not.toHaveBeenCalled();
    wanted = true;
    activity.note();
    expect(send).toHaveBeenCalledTimes(1);
  });

  it.each(['pointerdown', 'pointermove', 'keydown', 'wheel'])('takes %s in the page for activity', type => {
    const stop = activity.listen(document);
    document.body.dispatchEvent(new Event(type, { bubbles: true }));
    expect(send).toHaveBeenCalledTimes(1);
    stop();
    now = 60_000;
    document.body.dispatchEvent(new Event(type, { bubbles: true }));
    expect(send).toHaveBeenCalledTimes(1);
  });

  it('hears an event that somebody stops on its way', () => {
    const stop = activity.listen(document);
    document.body.addEventListener('keydown', event => event.stopPropagation(), { once: true });
    document.body.dispatchEvent(new Event('keydown', { bubbles: true }));
    expect(send).toHaveBeenCalledTimes(1);
    stop();
  });

  it('says so at once when asked to', () => {
    activity.note();
    activity.tell();
    expect(send).toHaveBeenCalledTimes(2);
  });

  it('survives a server that does not take it', async () => {
    send.mockRejectedValue(new Error('gone'));
    activity.note();
    await Promise.resolve();
    expect(send).toHaveBeenCalledTimes(1);
  });
});
