# SPDX-License-Identifier: BSL-1.0
# needs: xmllint
# processes: 5
{
    echo '<?xml version="1.0"?><!DOCTYPE list [<!ELEMENT list (item*)><!ELEMENT item (#PCDATA)><!ATTLIST item id CDATA #REQUIRED>]><list>'
    for i in $(seq 3000); do echo "<item id='$i'>text &amp; more $i</item>"; done
    echo '</list>'
} > list.xml
xmllint --format list.xml | tail -5
xmllint --valid --noout list.xml
xmllint --xpath 'count(//item[@id mod 3 = 0])' list.xml
xmllint --c14n list.xml | cksum
xmllint --stream --noout list.xml
echo '<a><b></a>' > broken.xml
xmllint broken.xml || echo "status $?"
