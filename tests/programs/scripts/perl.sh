# SPDX-License-Identifier: BSL-1.0
# needs: perl
# processes: 2
perl -e '
use strict; use warnings; use Data::Dumper; $Data::Dumper::Sortkeys = 1;
my %count; $count{length $_}++ for map { "x" x ($_ % 13) } 1 .. 20000;
print Dumper(\%count);
my $text = join ",", map { sprintf "%03d", $_ } 1 .. 500;
$text =~ s/(\d)(\d)(\d)/$3$2$1/g; print substr($text, 0, 80), "\n";
my @sorted = sort { $b <=> $a } map { ($_ * 7919) % 1000 } 1 .. 1000; print "@sorted[0 .. 5]\n";
my $ring = {}; $ring->{self} = $ring;
my $pid = fork; if (!$pid) { print "child\n"; exit 4 } waitpid $pid, 0; print $? >> 8, "\n";
print `echo from a shell`; eval { die "caught\n" }; print $@; exit 5' || echo "status $?"
