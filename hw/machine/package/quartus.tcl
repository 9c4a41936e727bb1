# @generator@: synthesis of the cluster @name@ in Quartus, without pins.
#
#   quartus_sh -t @name@_quartus.tcl DEVICE FAMILY FILE...
#
# DEVICE is by default @device@, and FAMILY is its family, by default @family@.
# FILE is a further Verilog source, such as the wrappers of SRAM macros. All may be left out. The
# project is made in the current folder.
#
# If a project is open, as that of a FuseSoC target, the script makes the pins virtual in it, and
# does nothing else.

# Ports that the device need not have pins for.
set spica_virtual_pins {
@pins@
}

proc spica_make_pins_virtual {} {
    foreach pin $::spica_virtual_pins {
        set_instance_assignment -name VIRTUAL_PIN ON -to $pin
    }
}

package require ::quartus::project
if {[is_project_open]} {
    spica_make_pins_virtual
    return
}
package require ::quartus::flow

set top @name@
set device @device@
set family "@family@"
set folder [file dirname [file normalize [info script]]]
set sources [list [file join $folder $top.v]]
if {[llength $::quartus(args)] > 0} {set device [lindex $::quartus(args) 0]}
if {[llength $::quartus(args)] > 1} {set family [lindex $::quartus(args) 1]}
foreach source [lrange $::quartus(args) 2 end] {lappend sources [file normalize $source]}

project_new $top -overwrite
set_global_assignment -name FAMILY $family
set_global_assignment -name DEVICE $device
set_global_assignment -name TOP_LEVEL_ENTITY $top
foreach source $sources {set_global_assignment -name VERILOG_FILE $source}
set_global_assignment -name SDC_FILE [file join $folder $top.sdc]
spica_make_pins_virtual

# Synthesis has another name in the Pro edition.
execute_module -tool [expr {[string match "*Pro Edition*" $::quartus(version)] ? "syn" : "map"}]
project_close
