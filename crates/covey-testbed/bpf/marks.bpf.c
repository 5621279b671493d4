/* Marks packets that have waited too long in a switch (ECN), whichever queues the switch has: TCN (Bai et al., CoNEXT
 * 2016). `stamp` runs where packets enter the queues of a link's end, `mark` where they leave the link.
 *
 * scripts/bpf.sh builds marks.bpf.o from this file. */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#define SEC(name) __attribute__((section(name), used))

static __u64 (*const ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*const skb_set_tstamp)(struct __sk_buff *skb, __u64 time, __u32 type) = (void *)BPF_FUNC_skb_set_tstamp;
static long (*const skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)BPF_FUNC_skb_ecn_set_ce;

/* How long a packet may wait, in nanoseconds. The loader sets it. */
const volatile __u64 may_wait = 0;

SEC("classifier") int stamp(struct __sk_buff *skb)
{
	/* As a time of departure the stamp survives the way to another namespace. */
	skb_set_tstamp(skb, ktime_get_ns(), BPF_SKB_TSTAMP_DELIVERY_MONO);
	return TC_ACT_UNSPEC;
}

SEC("classifier") int mark(struct __sk_buff *skb)
{
	if (skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO && ktime_get_ns() - skb->tstamp > may_wait)
		skb_ecn_set_ce(skb);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
