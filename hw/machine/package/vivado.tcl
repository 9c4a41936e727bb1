# @generator@: out-of-context synthesis of the cluster @name@ in Vivado.
#
#   vivado -mode batch -source @name@_vivado.tcl -tclargs PART FILE...
#
# PART is a device, by default @part@. FILE is a further Verilog source, such as the wrappers
# of SRAM macros. Both may be left out. Reports and a checkpoint go to the current folder.
#
# If a project is open, as that of a FuseSoC target, the script selects out-of-context synthesis
# in it, and does nothing else.

if {[current_project -quiet] ne ""} {
    set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} \
        -objects [get_runs synth_1]
    return
}

set top @name@
set part @part@
set folder [file dirname [file normalize [info script]]]
if {[llength $argv] > 0} {set part [lindex $argv 0]}

create_project -in_memory -part $part
read_verilog [file join $folder $top.v]
foreach source [lrange $argv 1 end] {read_verilog $source}
read_xdc -mode out_of_context [file join $folder $top.xdc]

synth_design -top $top -part $part -mode out_of_context
report_utilization -hierarchical -file ${top}_utilization.rpt
report_timing_summary -file ${top}_timing.rpt
write_checkpoint -force $top.dcp
