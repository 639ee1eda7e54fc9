# SPDX-License-Identifier: GPL-2.0-or-later
#
# perl_truth.pl LEAF: processes that each stay below a known stack of Perl's functions.
#
# LEAF is what they do at its end: burn, nap (short sleeps), or rest (a long one). Each prints one
# line of JSON first: {"pid": PID, "stack": [[name, line or null], …]}, root first, as the
# interpreter itself has it; that of the last function is not known.
use strict;
use warnings;
no warnings 'recursion';
use List::Util 'first';

package Shape;
our $AUTOLOAD;
sub new { bless {}, shift }
sub area { main::by_map() }
sub AUTOLOAD { return if $AUTOLOAD =~ /DESTROY/; main::leaf() }

package Ends;
sub new { bless {}, shift }
sub DESTROY { main::leaf() }

package Tied;
sub TIESCALAR { bless {}, shift }
sub FETCH { main::leaf() }

package Added;
use overload '+' => \&plus;
sub new { bless {}, shift }
sub plus { main::leaf() }

package main;
$SIG{__WARN__} = sub { leaf() };
$| = 1;

sub burn { my $n = 0; while (1) { $n = $n + 1 & 0xffff } }
sub nap { while (1) { select undef, undef, undef, 0.002 } }
sub rest { while (1) { sleep 1000 } }

sub leaf {
    my ($i, $line, @stack) = (0, undef);
    while (my @frame = caller $i++) {
        my ($name, $is_eval, $is_text) = ($frame[3], $frame[3] eq '(eval)', defined $frame[6]);
        next if $is_eval && !$is_text;    # a block: part of its function
        unshift @stack, [$is_eval ? '<eval>' : $name, $line];
        $line = $frame[2];
    }
    unshift @stack, ['<perl_truth.pl>', $line];
    my $text = join ', ', map { '["' . $_->[0] . '", ' . ($_->[1] // 'null') . ']' } @stack;
    print "{\"pid\": $$, \"stack\": [$text]}\n";
    no strict 'refs';
    $ARGV[0]->();
}

sub by_call { deep(100) }
sub deep { my $n = shift; $n ? deep($n - 1) : leaf() }
sub by_sort {
    my @a = sort {
        by_code()
    } (2, 1)
}
sub by_sort_named { my @a = sort compare (2, 1) }
sub compare { leaf(); 0 }
sub by_code { my $c = sub { leaf() }; $c->() }
sub by_eval { eval { by_text() } }
sub by_text { eval 'leaf()' }
sub by_method { Shape->new->area }
sub by_map { map { Shape->new->magic } (1) }
sub by_substitution { my $s = 'a'; $s =~ s/a/leaf()/e }
sub by_regex { 'a' =~ /a(?{ leaf() })/ }
sub by_end { my $x = Ends->new; undef $x }
sub by_tie { tie my $x, 'Tied'; my $y = $x }
sub by_overload { my $x = Added->new + 1 }
sub by_first { first { leaf() } (1) }
sub by_warning { warn 'x' }
sub by_goto { goto &leaf }
sub by_caught { my @a = sort { eval { caught() }; 0 } (2, 1) }
sub caught { eval { leaf() } }

for my $kind (qw(call sort sort_named code eval method substitution regex end tie overload first warning
    goto caught)) {
    next if fork;
    no strict 'refs';
    "by_$kind"->();
    exit;
}
wait;
